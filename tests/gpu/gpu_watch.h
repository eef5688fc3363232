#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sheaf::testing {

/// While it lives, an operator that makes the host wait for the GPU throws, on any thread.
class NoHostWaiting {
 public:
  NoHostWaiting();
  ~NoHostWaiting();
  NoHostWaiting(const NoHostWaiting&) = delete;
  NoHostWaiting& operator=(const NoHostWaiting&) = delete;
};

/// Lets all work on the GPU end.
void finish_gpu_work();
/// Gives the current stream a kernel that does nothing for about a second, and does not wait for
/// it.
void keep_gpu_busy();

struct GpuMemory {
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  /// What was asked for, without what blocks are rounded up to.
  std::int64_t requested = 0;
  std::int64_t peak_requested = 0;
};

/// Returns what LibTorch's allocator holds on the GPU, and held at most since reset_gpu_peak().
[[nodiscard]] GpuMemory gpu_memory_now();
void reset_gpu_peak();

}  // namespace sheaf::testing
