#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/plan/architecture.h"
#include "sheaf/plan/setting.h"

namespace sheaf::plan {

enum class Collective { all_reduce, all_gather, reduce_scatter };

[[nodiscard]] std::string_view name(Collective collective);

/// Exchanges of one kind in a step. Bytes are those of the whole tensors, as comm::Traffic counts.
struct Exchange {
  Collective collective = Collective::all_reduce;
  std::int64_t calls = 0;
  Bytes bytes;
  /// Ranks that take part.
  int ranks = 1;
};

/// Returns what a step exchanges: within the ranks that a model is cut over, and, with several
/// copies, between these.
[[nodiscard]] std::vector<Exchange> traffic_of(const Architecture& model, const Setting& setting);

/// Returns what one rank sends if each collective goes round a ring: an all-reduce nearly twice its
/// bytes, the others nearly once.
[[nodiscard]] Bytes sent_per_rank(const std::vector<Exchange>& exchanges);

}  // namespace sheaf::plan
