#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns a parameter without gaps. Its view is an operator, and operators wake parameters that
/// are spread over ranks (module/touch.h); kernels alone would read what is not there.
[[nodiscard]] inline at::Tensor awake(const at::Tensor& parameter) {
  return parameter.defined() ? parameter.view(parameter.sizes()).contiguous() : parameter;
}

}  // namespace sheaf::nn
