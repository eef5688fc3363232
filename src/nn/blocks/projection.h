#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sheaf/nn/linear.h"

namespace sheaf::nn {

/// Returns a weight as [in, out].
[[nodiscard]] at::Tensor in_to_out(const at::Tensor& weight, WeightLayout layout);

/// Gradient of a weight whose projection made rows of gradient `of_result` from `x`; see
/// product_gradient().
[[nodiscard]] at::Tensor weight_gradient(std::size_t input,
                                         const at::Tensor& x,
                                         const at::Tensor& of_result,
                                         WeightLayout layout);

/// Gradients of weights [out, in] of several projections of `x`, whose results' gradients lie side
/// by side in `of_results`; `input` is the first one's number. One product where their places lie
/// one after the other.
[[nodiscard]] std::vector<at::Tensor> weight_gradients(std::size_t input,
                                                       const at::Tensor& x,
                                                       const at::Tensor& of_results,
                                                       const std::vector<std::int64_t>& sizes);

/// Returns two matrices of one height side by side; a view where they lie so already.
[[nodiscard]] at::Tensor joined_columns(const at::Tensor& left, const at::Tensor& right);

/// Returns matrices with rows of one length as one matrix, where they lie one after the other in
/// memory; undefined otherwise.
[[nodiscard]] at::Tensor joined_rows(at::TensorList parts);

}  // namespace sheaf::nn
