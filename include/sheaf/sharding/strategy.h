#pragma once

#include <string>
#include <string_view>

#include "sheaf/sharding/options.h"

namespace sheaf::sharding {

/// A stage, how units are formed, and whether it is for the shard axis of a 2-D mesh.
struct Strategy {
  Stage stage = Stage::zero3;
  Policy policy = Policy::automatic;
  bool reshard_after_forward = true;
  bool hybrid = false;

  bool operator==(const Strategy&) const = default;
};

/// Reads `stage[:policy]`, such as ddp, ddp:flat, zero1, zero3, hybrid:zero3, and FSDP's names:
/// FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD, _HYBRID_SHARD_ZERO2, NO_SHARD. Throws UsageError that
/// says what is possible.
[[nodiscard]] Strategy parse_strategy(std::string_view text);

/// Returns the strategy as parse_strategy() reads it.
[[nodiscard]] std::string to_string(const Strategy& strategy);

}  // namespace sheaf::sharding
