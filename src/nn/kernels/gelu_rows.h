#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Takes rows [rows, width] that gelu (tanh) was made of and the gradient of its result, in one
/// pass: returns gelu(inner) again, turns `gradient` into that of `inner`, in place, and writes the
/// sums of its columns to `sums` [width] of fp32 or the rows' type, or adds them if `adds`.
[[nodiscard]] at::Tensor gelu_rows_back(const at::Tensor& inner,
                                        at::Tensor& gradient,
                                        at::Tensor& sums,
                                        bool adds);

}  // namespace sheaf::nn
