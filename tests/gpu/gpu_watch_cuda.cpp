#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include "gpu/gpu_watch.h"

namespace sheaf::testing {
namespace {

constexpr at::DeviceIndex kGpu = 0;
// Of the three counts that the allocator keeps, the one for blocks of all sizes.
constexpr std::size_t kAll = 0;
// About a second at the clocks of today's GPUs.
constexpr std::int64_t kBusyCycles = 1'500'000'000;

}  // namespace

NoHostWaiting::NoHostWaiting() {
  c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
}

NoHostWaiting::~NoHostWaiting() {
  c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
}

void finish_gpu_work() { c10::cuda::device_synchronize(); }

void keep_gpu_busy() { at::cuda::sleep(kBusyCycles); }

GpuMemory gpu_memory_now() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(kGpu);
  return {.allocated = stats.allocated_bytes[kAll].current,
          .reserved = stats.reserved_bytes[kAll].current,
          .requested = stats.requested_bytes[kAll].current,
          .peak_requested = stats.requested_bytes[kAll].peak};
}

void reset_gpu_peak() { c10::cuda::CUDACachingAllocator::resetPeakStats(kGpu); }

}  // namespace sheaf::testing
