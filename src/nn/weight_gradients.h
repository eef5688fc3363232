#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace sheaf::nn {

// Gradients of parameters, for the backward of a torch::autograd::Function: of its tensor argument
// number `input`. They are written where they belong if somebody has a place for them, and nothing
// is returned then; see module::open_gradient().

/// Takes a^T b for matrices.
[[nodiscard]] at::Tensor product_gradient(std::size_t input,
                                          const at::Tensor& a,
                                          const at::Tensor& b);

/// Takes the sum of a matrix's rows.
[[nodiscard]] at::Tensor sum_gradient(std::size_t input, const at::Tensor& rows);

}  // namespace sheaf::nn
