#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// See gelu_rows_back(). Returns an undefined tensor, with nothing changed, for what it has no
/// kernel for.
[[nodiscard]] at::Tensor gelu_rows_back_on_cuda(const at::Tensor& inner,
                                                at::Tensor& gradient,
                                                at::Tensor& sums,
                                                bool adds);

}  // namespace sheaf::nn
