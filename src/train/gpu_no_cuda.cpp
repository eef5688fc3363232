#include "sheaf/base/error.h"
#include "train/gpu.h"

namespace sheaf::train {
namespace {

[[noreturn]] void refuse(at::Device device) {
  throw UsageError("this sheaf was built without CUDA and knows nothing of " + device.str());
}

}  // namespace

MemoryUse gpu_memory(at::Device device) { refuse(device); }

std::string gpu_name(at::Device device) { refuse(device); }

std::vector<std::string> gpu_names() { return {}; }

std::string cuda_version() { return ""; }

}  // namespace sheaf::train
