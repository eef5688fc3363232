#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Says whether kernels of our own may read `x`: fp32 on a CPU, with strides.
[[nodiscard]] inline bool is_plain_fp32(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.layout() == at::kStrided;
}

}  // namespace sheaf::nn
