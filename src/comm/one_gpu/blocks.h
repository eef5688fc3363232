#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "../backend.h"

namespace sheaf::comm::one_gpu {

/// Memory of the GPU that all ranks of a group can reach: one block of the same size per rank, from
/// LibTorch's allocator, so that it is counted like all other memory.
class Blocks {
 public:
  /// Every rank calls it; `host` carries the handles. Throws CommError where the GPU's memory
  /// cannot be shared.
  Blocks(Backend& host, const Members& members, at::Device device, std::size_t bytes);

  [[nodiscard]] std::byte* of(int rank) const { return blocks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  at::Tensor own_;
  /// Peers' memory, as opened here.
  std::vector<std::shared_ptr<void>> opened_;
  std::vector<std::byte*> blocks_;
};

}  // namespace sheaf::comm::one_gpu
