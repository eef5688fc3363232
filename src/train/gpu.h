#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "sheaf/train/memory_report.h"
#include "sheaf/train/record.h"

namespace sheaf::train {

/// Returns what the caching allocator holds on that GPU; nothing about the process.
[[nodiscard]] MemoryUse gpu_memory(at::Device device);

/// Returns what that allocator has taken from the GPU.
[[nodiscard]] AllocatorUse gpu_allocator(at::Device device);

/// Makes what is in use now the peak.
void reset_gpu_peak(at::Device device);

/// Lets tensors on that GPU take no more than `limit`, of all that it has.
void limit_gpu_memory(at::Device device, Bytes limit);

/// Begins to write down every allocation on GPUs, for gpu_snapshot().
void record_gpu_history();
/// Adds the segments that there are now, and the history as so many moments.
void add_gpu_history(AllocatorUse& use, at::Device device, std::size_t num_moments);
/// Returns what memory_viz reads: segments, blocks and the history.
[[nodiscard]] std::string gpu_snapshot();

/// Returns what the driver calls that GPU.
[[nodiscard]] std::string gpu_name(at::Device device);

/// Returns the names of all GPUs that this process sees, without starting work on them.
[[nodiscard]] std::vector<std::string> gpu_names();

/// Returns the CUDA that LibTorch was built with, such as "13.0"; empty without.
[[nodiscard]] std::string cuda_version();

}  // namespace sheaf::train
