#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Writes the sums over the rows of a matrix [rows, width] to `target` [width], or adds them to
/// what is there if `adds`. Sums in fp32 (fp64 of fp64), on GPUs always in the same order; the
/// target is of that type or of the rows', without gaps.
void column_sums(const at::Tensor& rows, at::Tensor& target, bool adds);

}  // namespace sheaf::nn
