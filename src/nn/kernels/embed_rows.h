#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns the rows of `table` [tokens, width] that int64 `indices` name, shaped [*indices, width].
/// If `positions_table` is defined, adds its row at each token's position before rounding: that in
/// `positions`, shaped as the indices, or if that is undefined 0, 1, ... along their last dim.
/// Records nothing.
[[nodiscard]] at::Tensor embed_rows(const at::Tensor& table,
                                    const at::Tensor& indices,
                                    const at::Tensor& positions_table,
                                    const at::Tensor& positions);

/// Adds row i of `rows` [indices, width] to row indices[i] of `target` [tokens, width]; the target
/// may be of another type than the rows and has no gaps. Always in the same order, whatever the
/// number of threads; on GPUs all rows of a token are added up in fp32 first.
void add_embedding_gradient(const at::Tensor& rows, const at::Tensor& indices, at::Tensor& target);

/// Adds to `target` [positions, width] the sums over all texts of `rows` [texts, length, width]:
/// the gradient of positions 0, 1, ...
void add_position_gradient(const at::Tensor& rows, at::Tensor& target);

}  // namespace sheaf::nn
