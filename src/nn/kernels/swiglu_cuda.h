#pragma once

#include "swiglu.h"

namespace sheaf::nn {

// Both work in the current stream and do not wait. They return false where there is no kernel for
// the types or strides, as in a build without CUDA.

/// Writes to `result`, [rows, hidden] without gaps.
[[nodiscard]] bool swiglu_on_cuda(const at::Tensor& gate, const at::Tensor& up, at::Tensor& result);

/// Writes to the tensors of `result` that are defined.
[[nodiscard]] bool swiglu_gradients_on_cuda(const at::Tensor& gate,
                                            const at::Tensor& up,
                                            const at::Tensor& of_result,
                                            SwigluGradients& result);

}  // namespace sheaf::nn
