#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns gelu(x, tanh) without recording it.
[[nodiscard]] at::Tensor gelu_of(const at::Tensor& x);

/// Returns the gradient of `x` from that of gelu_of(x).
[[nodiscard]] at::Tensor gelu_gradient(const at::Tensor& x, const at::Tensor& gradient);

}  // namespace sheaf::nn
