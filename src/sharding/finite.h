#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::sharding {

/// Tells whether all of a flat tensor's elements are finite; the host waits for a GPU.
[[nodiscard]] bool is_finite(const at::Tensor& values);

}  // namespace sheaf::sharding
