#pragma once

#include "column_sums.h"

namespace sheaf::nn {

/// column_sums in the current stream; does not wait. Returns false where there is no kernel for the
/// types or strides, as in a build without CUDA.
[[nodiscard]] bool column_sums_on_cuda(const at::Tensor& rows, const VectorTarget& target);

}  // namespace sheaf::nn
