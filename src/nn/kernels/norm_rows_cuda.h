#pragma once

#include "norm_rows.h"

namespace sheaf::nn {

// norm_rows and its kin in the current stream; none waits. They return undefined tensors where
// there is no kernel for the types, as in a build without CUDA.

[[nodiscard]] at::Tensor norm_rows_on_cuda(const at::Tensor& x,
                                           const at::Tensor& weight,
                                           const at::Tensor& bias,
                                           const NormOptions& options,
                                           NormStatistics& statistics);

[[nodiscard]] at::Tensor norm_rows_back_on_cuda(const NormBackward& in,
                                                const VectorTarget& of_weight,
                                                const VectorTarget& of_bias);

}  // namespace sheaf::nn
