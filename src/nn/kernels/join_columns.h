#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "vector_target.h"

namespace sheaf::nn {

/// Returns matrices [rows, any width] of one type side by side, and puts the sums of the result's
/// columns into `sums`; on a GPU in one pass. Derivatives are not recorded.
[[nodiscard]] at::Tensor join_columns(const std::vector<at::Tensor>& parts,
                                      const VectorTarget& sums);

}  // namespace sheaf::nn
