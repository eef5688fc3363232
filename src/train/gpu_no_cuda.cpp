#include "sheaf/base/error.h"
#include "train/gpu.h"

namespace sheaf::train {
namespace {

[[noreturn]] void refuse(at::Device device) {
  throw UsageError("this sheaf was built without CUDA and knows nothing of " + device.str());
}

}  // namespace

MemoryUse gpu_memory(at::Device device) { refuse(device); }

AllocatorUse gpu_allocator(at::Device device) { refuse(device); }

void reset_gpu_peak(at::Device device) { refuse(device); }

void limit_gpu_memory(at::Device device, Bytes /*limit*/) { refuse(device); }

void record_gpu_history() { refuse(at::kCUDA); }

void add_gpu_history(AllocatorUse& /*use*/, at::Device device, std::size_t /*num_moments*/) {
  refuse(device);
}

std::string gpu_snapshot() { refuse(at::kCUDA); }

std::string gpu_name(at::Device device) { refuse(device); }

std::vector<std::string> gpu_names() { return {}; }

std::string cuda_version() { return ""; }

}  // namespace sheaf::train
