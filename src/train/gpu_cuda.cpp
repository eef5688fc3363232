#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>
#include <torch/csrc/cuda/memory_snapshot.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "train/allocator_history.h"
#include "train/gpu.h"

namespace sheaf::train {
namespace {

// The allocator counts small and large blocks apart; the first number is for both.
constexpr std::size_t kAll = 0;

at::DeviceIndex index_of(at::Device device) {
  return device.has_index() ? device.index() : c10::cuda::current_device();
}

/// Returns by how much an event changed what the allocator holds, in bytes that were asked for.
AllocatorMoment change_of(const c10::CachingDeviceAllocator::TraceEntry& entry) {
  using Entry = c10::CachingDeviceAllocator::TraceEntry;
  const auto size = static_cast<std::int64_t>(entry.size_);
  // A snapshot has turned the clock's ticks into microseconds.
  AllocatorMoment change{.time = Seconds(1e-6 * static_cast<double>(entry.time_.t_))};
  switch (entry.action_) {
    case Entry::ALLOC:
      change.in_use = {size};
      break;
    case Entry::FREE_COMPLETED:
      change.in_use = {-size};
      break;
    case Entry::SEGMENT_ALLOC:
    case Entry::SEGMENT_MAP:
      change.reserved = {size};
      break;
    case Entry::SEGMENT_FREE:
    case Entry::SEGMENT_UNMAP:
      change.reserved = {-size};
      break;
    case Entry::FREE_REQUESTED:
    case Entry::SNAPSHOT:
    case Entry::OOM:
      break;
  }
  return change;
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

void add_gpu_history(AllocatorUse& use, at::Device device, std::size_t num_moments) {
  const at::DeviceIndex index = index_of(device);
  const auto snapshot = c10::cuda::CUDACachingAllocator::snapshot();
  AllocatorMoment end;
  for (const auto& segment : snapshot.segments) {
    if (segment.device != index) continue;
    const auto size = static_cast<std::int64_t>(segment.total_size);
    use.segment_list.push_back(
        {.size = {size}, .in_use = {static_cast<std::int64_t>(segment.allocated_size)}});
    end.in_use.count += static_cast<std::int64_t>(segment.requested_size);
    end.reserved.count += size;
  }
  std::ranges::sort(use.segment_list, std::greater{}, &Segment::size);
  if (static_cast<std::size_t>(index) >= snapshot.device_traces.size()) return;
  std::vector<AllocatorMoment> changes;
  for (const auto& entry : snapshot.device_traces[index]) changes.push_back(change_of(entry));
  use.history = replayed(changes, end, num_moments);
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
