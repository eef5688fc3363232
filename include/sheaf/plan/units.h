#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sheaf/plan/architecture.h"
#include "sheaf/plan/setting.h"

namespace sheaf::plan {

/// Parameters that are stored, exchanged and stepped together, as the engine forms them.
struct Unit {
  /// The block it is, in zero3; kNoBlock for the root, and for buckets.
  int block = kNoBlock;
  /// Indices of its parameters.
  std::vector<std::size_t> parameters;
  /// Elements with padding, and those of one rank.
  std::int64_t size = 0;
  std::int64_t shard_size = 0;
};

/// Returns the units: blocks and the root last for zero3, else buckets that begin with the last
/// parameters.
[[nodiscard]] std::vector<Unit> units_of(const std::vector<Parameter>& parameters,
                                         const Setting& setting);

}  // namespace sheaf::plan
