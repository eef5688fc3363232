#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace sheaf::sharding {

/// Takes the memory away from a tensor and from all its views, which keep their shapes. Whoever
/// looks for it gets an error that says `why`.
///
/// Note [Storage swap]: views share the tensor's StorageImpl, also those that autograd has saved,
/// so changing its data pointer changes it for all of them, and no version counter moves.
void take_memory(const at::Tensor& tensor, const std::string& why);

/// Gives a tensor without memory, and all its views, new memory without values.
void give_memory(const at::Tensor& tensor);

[[nodiscard]] bool has_memory(const at::Tensor& tensor);

}  // namespace sheaf::sharding
