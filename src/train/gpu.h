#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "sheaf/train/record.h"

namespace sheaf::train {

/// Returns what the caching allocator holds on that GPU; nothing about the process.
[[nodiscard]] MemoryUse gpu_memory(at::Device device);

/// Returns what the driver calls that GPU.
[[nodiscard]] std::string gpu_name(at::Device device);

/// Returns the names of all GPUs that this process sees, without starting work on them.
[[nodiscard]] std::vector<std::string> gpu_names();

/// Returns the CUDA that LibTorch was built with, such as "13.0"; empty without.
[[nodiscard]] std::string cuda_version();

}  // namespace sheaf::train
