#include "devices.h"
#include "sheaf/base/error.h"

namespace sheaf::comm {

bool built_with_cuda() { return false; }

CudaDevices find_cuda_devices() { return {}; }

std::string identity_of_gpu(int /*index*/) { throw UsageError("this build has no CUDA"); }

}  // namespace sheaf::comm
