#pragma once

#include <vector>

#include "sheaf/models/model.h"
#include "sheaf/module/claim.h"

namespace sheaf::train {

/// Owner of what a model makes in forward outside of its blocks.
inline constexpr const char* kOutsideOfBlocks = "(root)";

/// Counts what forward passes make as activations of the block that makes it, for as long as the
/// handles live.
[[nodiscard]] std::vector<module::ClaimHandle> label_memory(const models::Model& model);

}  // namespace sheaf::train
