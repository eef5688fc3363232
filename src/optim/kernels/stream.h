#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace sheaf::optim {

/// Calls `body` with the current CUDA stream of the tensor's device, which is the current device
/// meanwhile. Throws UsageError in a build without CUDA.
void with_stream_of(const at::Tensor& tensor, const std::function<void(void* stream)>& body);

}  // namespace sheaf::optim
