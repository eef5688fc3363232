#pragma once

#include <concepts>

#include "sheaf/sharding/options.h"
#include "sheaf/sharding/state.h"

namespace sheaf {

/// Makes a model train on many ranks as on one. The model's own code does not change; its
/// parameters become views of flat memory, and with zero3 they have their values only while they
/// are needed. All ranks must call it with the same model and options; where they differ, every
/// rank gets an error that says how.
///
/// An optimizer must be built after it, from the state's slots() or parameters(). One that was
/// built before holds the parameters as they were, which is found out and refused; code that holds
/// them for another reason says so with `allow_outside_handles`.
[[nodiscard]] sharding::State shard(torch::nn::Module& model, const ShardOptions& options);

/// shard() with stage ddp.
[[nodiscard]] sharding::State replicate(torch::nn::Module& model, ShardOptions options);

/// Makes a block a unit of its own when the model around it is sharded with stage zero3; other
/// stages have no units of blocks and do without.
void fully_shard(torch::nn::Module& block, const sharding::BlockOptions& options = {});

/// shard() with stage zero3: the blocks claimed before become units, the root takes the rest.
/// A template so that fully_shard(block, {.reshard_after_forward = false}), which fits both, means
/// the block.
template <std::same_as<ShardOptions> Options = ShardOptions>
[[nodiscard]] sharding::State fully_shard(torch::nn::Module& model, Options options) {
  options.stage = Stage::zero3;
  return shard(model, options);
}

}  // namespace sheaf
