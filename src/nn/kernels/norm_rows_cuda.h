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

[[nodiscard]] at::Tensor norm_rows_again_on_cuda(const at::Tensor& x,
                                                 const at::Tensor& weight,
                                                 const at::Tensor& bias,
                                                 const NormStatistics& statistics);

/// What norm_rows_gradients takes.
struct NormBackward {
  at::Tensor of_result;
  at::Tensor x;
  at::Tensor weight;
  NormStatistics statistics;
  bool with_bias = false;
  at::Tensor residual;
};

[[nodiscard]] NormGradients norm_rows_gradients_on_cuda(const NormBackward& in);

}  // namespace sheaf::nn
