#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::checkpoint {

/// Returns the type that a safetensors file calls `name`. Throws UsageError that lists the names.
[[nodiscard]] at::ScalarType dtype_of(std::string_view name);

/// Returns the name of a type. Throws UsageError for one that the format does not have.
[[nodiscard]] std::string_view dtype_name(at::ScalarType dtype);

/// Returns the bytes of one element.
[[nodiscard]] std::int64_t dtype_size(at::ScalarType dtype);

}  // namespace sheaf::checkpoint
