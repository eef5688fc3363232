#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace sheaf::checkpoint {

/// Elements of a flattened tensor, from `begin` on, that a rank saves or loads. The values are flat
/// and contiguous; those that are saved are of the type that the contents give the tensor.
struct Part {
  std::string name;
  std::int64_t begin = 0;
  at::Tensor values;
};

}  // namespace sheaf::checkpoint
