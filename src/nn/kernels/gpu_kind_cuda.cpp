#include <ATen/cuda/CUDAContext.h>

#include "gpu_kind.h"

namespace sheaf::nn {

int compute_capability(at::Device device) {
  if (!device.is_cuda()) return 0;
  const auto* const properties = device.has_index() ? at::cuda::getDeviceProperties(device.index())
                                                    : at::cuda::getCurrentDeviceProperties();
  return properties->major;
}

}  // namespace sheaf::nn
