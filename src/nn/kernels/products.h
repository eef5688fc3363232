#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns x w^T + bias for matrices; an undefined `bias` adds nothing.
[[nodiscard]] at::Tensor times_transposed(const at::Tensor& x,
                                          const at::Tensor& w,
                                          const at::Tensor& bias = {});

}  // namespace sheaf::nn
