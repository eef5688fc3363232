#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns the rows of `weight` [rows, width] that the int64 tensor `indices` names, shaped
/// [*indices, width]. In training inside sheaf::shard the gradient is added to its place without a
/// tensor as large as the weight in between.
[[nodiscard]] at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices);

/// Returns the rows of `tokens` that int64 texts [texts, length] name, each with the row of
/// `positions` at its place in the text. Has no second derivative.
[[nodiscard]] at::Tensor text_embedding(const at::Tensor& tokens,
                                        const at::Tensor& positions,
                                        const at::Tensor& texts);

}  // namespace sheaf::nn
