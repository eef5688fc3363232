#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "sheaf/checkpoint/saver.h"

namespace sheaf::checkpoint {

/// Memory of the host that values wait in until they are written; it stays for the next time.
class HostCopy {
 public:
  /// Returns the same parts with values of their own, which the next take() overwrites. Blocks
  /// until the values are there.
  [[nodiscard]] std::vector<Part> take(const std::vector<Part>& parts);

 private:
  at::Tensor bytes_;
};

}  // namespace sheaf::checkpoint
