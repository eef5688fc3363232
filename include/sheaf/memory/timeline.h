#pragma once

#include <cstddef>
#include <vector>

#include "sheaf/base/memory_purpose.h"
#include "sheaf/base/units.h"
#include "sheaf/memory/holders.h"

namespace sheaf::memory {

/// Every CPU tensor that was made and let go within a time.
struct Timeline {
  struct Event {
    /// Since the start.
    Seconds time{0};
    /// Index in `start`.
    std::size_t holder = 0;
    /// Below 0 where memory was let go.
    Bytes change;
  };
  /// What everyone held at the start, also those who came later.
  std::vector<Holder> start;
  std::vector<Event> events;
};

/// Begins to write down every CPU tensor; a second call begins anew. Costs a lock per tensor.
void start_timeline();
/// Ends it and returns what was written down.
[[nodiscard]] Timeline stop_timeline();

/// What was held at one moment.
struct Moment {
  Seconds time{0};
  ByPurpose purposes;
  /// Those who held anything.
  std::vector<Holder> holders;
};

/// Returns the moment at which most was held.
[[nodiscard]] Moment peak_of(const Timeline& timeline);

/// Cuts the time into equal spans and returns the moment of each at which most was held; a span in
/// which nothing happened has what was there before. Holders are left out.
[[nodiscard]] std::vector<Moment> sampled(const Timeline& timeline, std::size_t num_spans);

}  // namespace sheaf::memory
