#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/profile/trace_report.h"

namespace sheaf::profile {

/// How something changed from one trace to another.
enum class Change { added, removed, changed, same };

[[nodiscard]] std::string_view name(Change change);

/// One operator, kernel or collective in two traces.
struct Difference {
  std::string name;
  Change change = Change::same;
  std::int64_t calls_before = 0;
  std::int64_t calls_after = 0;
  /// Of collectives only.
  Bytes bytes_before;
  Bytes bytes_after;
  Seconds before{0};
  Seconds after{0};
};

/// What a step does differently in `after`. Steps are all those of a trace.
struct TraceDifference {
  std::int64_t steps_before = 1;
  std::int64_t steps_after = 1;
  /// By collective and purpose.
  std::vector<Difference> collectives;
  /// What has another number of calls is new, removed or changed; the largest change of time first.
  std::vector<Difference> operators;
};

/// Compares one rank's trace with another's. Something is changed where calls per step or bytes per
/// step differ: times always do.
[[nodiscard]] TraceDifference difference(const RankTrace& before, const RankTrace& after);

}  // namespace sheaf::profile
