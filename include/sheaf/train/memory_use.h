#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "sheaf/train/record.h"

namespace sheaf::train {

/// Returns what this process holds now and held at most: on the CPU what cpu_usage() counts, on
/// CUDA what the caching allocator knows of that device, and for both the process's own memory.
/// Throws UsageError for other devices, and for CUDA in a build without it.
[[nodiscard]] MemoryUse measure_memory(at::Device device);

/// Returns the name that the maker gives the device: the processor's, or the one gpu_peak() reads.
/// Throws UsageError as above.
[[nodiscard]] std::string device_name(at::Device device);

}  // namespace sheaf::train
