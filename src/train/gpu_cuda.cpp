#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>
#include <torch/csrc/cuda/memory_snapshot.h>

#include <algorithm>
#include <optional>

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

AllocatorUse gpu_allocator(at::Device device) {
  at::detail::getCUDAHooks().init();
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index_of(device));
  return {.segments = stats.segment[kAll].current,
          .unusable = {stats.inactive_split_bytes[kAll].current},
          .retries = stats.num_alloc_retries};
}

void reset_gpu_peak(at::Device device) {
  c10::cuda::CUDACachingAllocator::resetPeakStats(index_of(device));
}

void limit_gpu_memory(at::Device device, Bytes limit) {
  at::detail::getCUDAHooks().init();
  const auto total = at::cuda::getDeviceProperties(index_of(device))->totalGlobalMem;
  const double part = static_cast<double>(limit.count) / static_cast<double>(total);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(std::min(part, 1.0), index_of(device));
}

// Without stacks: those of C++ are slow, and say little without symbols.
void record_gpu_history() {
  constexpr std::size_t kMostEntries = 1 << 20;
  const std::optional<std::string> everything("all");
  torch::cuda::_record_memory_history(everything, std::nullopt, "all", kMostEntries);
}

std::string gpu_snapshot() { return torch::cuda::_memory_snapshot_pickled(); }

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
