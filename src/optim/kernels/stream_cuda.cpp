#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "stream.h"

namespace sheaf::optim {

void with_stream_of(const at::Tensor& tensor, const std::function<void(void* stream)>& body) {
  const c10::cuda::CUDAGuard guard(tensor.device());
  body(c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream());
}

}  // namespace sheaf::optim
