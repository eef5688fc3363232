#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns `x` in the type that is computed in: fp64 stays, everything else becomes fp32.
[[nodiscard]] inline at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

}  // namespace sheaf::nn
