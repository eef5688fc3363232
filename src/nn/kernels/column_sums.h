#pragma once

#include <ATen/core/Tensor.h>

#include "vector_target.h"

namespace sheaf::nn {

/// Puts the sums over the rows of a matrix [rows, width] into `target` [width]. Sums in fp32 (fp64
/// of fp64), on GPUs always in the same order; the target is of that type or of the rows', without
/// gaps.
void column_sums(const at::Tensor& rows, const VectorTarget& target);

}  // namespace sheaf::nn
