#pragma once

#include "gelu_rows.h"

namespace sheaf::nn {

/// See gelu_rows_back(). Returns an undefined tensor, with nothing changed, for what it has no
/// kernel for.
[[nodiscard]] at::Tensor gelu_rows_back_on_cuda(const at::Tensor& inner,
                                                at::Tensor& gradient,
                                                const VectorTarget& sums);

}  // namespace sheaf::nn
