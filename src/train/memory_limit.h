#pragma once

#include <ATen/core/Tensor.h>

#include "sheaf/base/units.h"

namespace sheaf::train {

/// Puts a limit on the tensors of a device, in this process, for as long as it lives; 0 is none. On
/// a GPU it is a part of the whole memory, which LibTorch's allocator keeps to.
class [[nodiscard]] MemoryLimit {
 public:
  MemoryLimit(Bytes limit, at::Device device);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  bool is_on_;
  at::Device device_;
};

}  // namespace sheaf::train
