#pragma once

#include <ATen/core/Tensor.h>

#include "vector_target.h"

namespace sheaf::nn {

/// Takes rows [rows, width] that gelu (tanh) was made of and the gradient of its result, in one
/// pass: returns gelu(inner) again, turns `gradient` into that of `inner`, in place, and puts the
/// sums of its columns into `sums` [width] of fp32 or the rows' type.
[[nodiscard]] at::Tensor gelu_rows_back(const at::Tensor& inner,
                                        at::Tensor& gradient,
                                        const VectorTarget& sums);

}  // namespace sheaf::nn
