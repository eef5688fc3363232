#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns the major number of a GPU's compute capability, 9 for Hopper; 0 for other devices.
[[nodiscard]] int compute_capability(at::Device device);

}  // namespace sheaf::nn
