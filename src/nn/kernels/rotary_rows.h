#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Rotates the pairs (i, i + size / 2) of each head of `x`, [batch, length, heads, size], in place
/// by the angle of its position, or back if `sign` is -1. Cosines and sines are
/// [length or more, size / 2], or by text [batch, 1, length or more, size / 2]. Computes in the
/// wider of both types and records nothing; elements of a head lie side by side, all else may have
/// any strides.
void rotate_rows_(at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines, int sign);

/// Returns what rotate_rows_ would make of `x`, without gaps.
[[nodiscard]] at::Tensor rotated_rows(const at::Tensor& x,
                                      const at::Tensor& cosines,
                                      const at::Tensor& sines,
                                      int sign);

}  // namespace sheaf::nn
