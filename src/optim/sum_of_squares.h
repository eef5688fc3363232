#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace sheaf::optim {

/// Returns the sum of the squares of all elements of flat fp32, fp64 or bf16 tensors on one GPU,
/// read once: fp64, of one element, on the same GPU. Nobody waits for it.
[[nodiscard]] at::Tensor sum_of_squares(const std::vector<at::Tensor>& tensors);

}  // namespace sheaf::optim
