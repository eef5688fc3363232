#pragma once

#include <vector>

#include "inventory.h"
#include "sheaf/sharding/options.h"
#include "unit_plan.h"

namespace sheaf::sharding {

/// Notes that a block wants a unit of its own, until the model around it is sharded.
void add_block_claim(const torch::nn::Module& block, const BlockOptions& options);

/// Takes the claims on modules of this model.
[[nodiscard]] std::vector<BlockClaim> take_block_claims(const Inventory& inventory);

}  // namespace sheaf::sharding
