#include "memory_limit.h"

#include <cstdint>
#include <exception>
#include <limits>
#include <string>

#include "sheaf/base/log.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/memory/limit.h"
#include "train/gpu.h"

namespace sheaf::train {

MemoryLimit::MemoryLimit(Bytes limit, at::Device device)
    : is_on_(limit.count > 0), device_(device) {
  if (!is_on_) return;
  if (device.is_cuda()) {
    limit_gpu_memory(device, limit);
  } else {
    memory::limit_cpu_tensors(limit);
  }
}

MemoryLimit::~MemoryLimit() {
  if (!is_on_) return;
  if (!device_.is_cuda()) {
    memory::limit_cpu_tensors({0});
    return;
  }
  // A device that has failed refuses this, too, and its own error is already on its way.
  try {
    limit_gpu_memory(device_, {std::numeric_limits<std::int64_t>::max()});
  } catch (const std::exception& error) {
    log::debug("memory", std::string("the limit stays: ") + error.what());
  }
}

}  // namespace sheaf::train
