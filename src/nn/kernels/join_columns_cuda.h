#pragma once

#include "join_columns.h"

namespace sheaf::nn {

/// join_columns in the current stream, without waiting. Returns an undefined tensor where there is
/// no kernel for it, as in a build without CUDA.
[[nodiscard]] at::Tensor join_columns_on_cuda(const std::vector<at::Tensor>& parts,
                                              const VectorTarget& sums);

}  // namespace sheaf::nn
