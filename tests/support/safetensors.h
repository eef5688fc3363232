#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace sheaf::testing {

using TensorFile = std::map<std::string, at::Tensor>;

/// Writes tensors as one safetensors file.
void write_safetensors(const std::string& path, const TensorFile& tensors);

/// Reads such a file, all of it.
[[nodiscard]] TensorFile read_safetensors(const std::string& path);

}  // namespace sheaf::testing
