#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace sheaf::sharding {

/// Has someone called each time a backward pass has added to a parameter's gradient. Whoever had
/// asked for that before is called first.
void hook_gradient(const at::Tensor& parameter, std::function<void()> added);

/// Takes the newest such hook away.
void unhook_gradient(const at::Tensor& parameter);

/// Tells whether a parameter has such a hook.
[[nodiscard]] bool has_gradient_hook(const at::Tensor& parameter);

}  // namespace sheaf::sharding
