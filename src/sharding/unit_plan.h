#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "inventory.h"
#include "sheaf/sharding/options.h"

namespace sheaf::sharding {

/// Which parameters form a unit, before any memory is made.
struct UnitPlan {
  std::string name;
  /// The module whose boundary wakes it; none for units that are whole all the time.
  std::optional<std::size_t> module;
  /// Indices of its parameters.
  std::vector<std::size_t> parameters;
  bool reshard_after_forward = true;

  [[nodiscard]] bool is_root() const { return module == 0; }
};

/// A block that asked for a unit of its own.
struct BlockClaim {
  std::size_t module = 0;
  BlockOptions options;
};

/// Decides on the units of a model. Stages with whole parameters put the trainable ones in flat or
/// bucketed units, last layers first; frozen ones stay as they are. zero3 makes a unit per chosen
/// module, in the order of the model, the root's own parameters last; tied parameters go to the
/// innermost unit around all their users. Throws UsageError for options that do not fit.
[[nodiscard]] std::vector<UnitPlan> plan_units(const Inventory& inventory,
                                               const ShardOptions& options,
                                               const std::vector<BlockClaim>& claims);

}  // namespace sheaf::sharding
