#include "sheaf/base/error.h"
#include "stream.h"

namespace sheaf::optim {

void with_stream_of(const at::Tensor& tensor, const std::function<void(void*)>&) {
  throw UsageError("this sheaf was built without CUDA and cannot step parameters on " +
                   tensor.device().str());
}

}  // namespace sheaf::optim
