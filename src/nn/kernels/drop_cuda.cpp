#include "drop_cuda.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "drop_kernel.h"

namespace sheaf::nn {

void drop_on_cuda(const DropElements& all, const DropRule& rule, const at::Tensor& input) {
  const c10::cuda::CUDAGuard guard(input.device());
  launch_drop(all, rule, c10::cuda::getCurrentCUDAStream(input.device().index()).stream());
}

}  // namespace sheaf::nn
