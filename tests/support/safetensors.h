#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace sheaf::testing {

using TensorFile = std::map<std::string, at::Tensor>;

/// Writes tensors of float, double or int64 as one safetensors file.
void write_safetensors(const std::string& path, const TensorFile& tensors);

/// Reads such a file. Throws IoError if it cannot be read or is cut short.
[[nodiscard]] TensorFile read_safetensors(const std::string& path);

}  // namespace sheaf::testing
