#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>

#include "train/gpu.h"

namespace sheaf::train {
namespace {

// The allocator counts small and large blocks apart; the first number is for both.
constexpr std::size_t kAll = 0;

at::DeviceIndex index_of(at::Device device) {
  return device.has_index() ? device.index() : c10::cuda::current_device();
}

}  // namespace

MemoryUse gpu_memory(at::Device device) {
  at::detail::getCUDAHooks().init();
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index_of(device));
  return {.allocated = {stats.allocated_bytes[kAll].current},
          .peak_allocated = {stats.allocated_bytes[kAll].peak},
          .peak_active = {stats.active_bytes[kAll].peak},
          .reserved = {stats.reserved_bytes[kAll].current}};
}

std::string gpu_name(at::Device device) {
  return at::cuda::getDeviceProperties(index_of(device))->name;
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  const at::DeviceIndex count = c10::cuda::device_count();
  for (at::DeviceIndex i = 0; i < count; ++i) names.push_back(gpu_name({at::kCUDA, i}));
  return names;
}

std::string cuda_version() {
  const long version = at::detail::getCUDAHooks().versionCUDART();
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace sheaf::train
