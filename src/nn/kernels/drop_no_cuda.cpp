#include "drop_cuda.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {

void drop_on_cuda(const DropElements&, const DropRule&, const at::Tensor&) {
  throw UsageError("this sheaf was built without CUDA and cannot drop elements on a GPU");
}

}  // namespace sheaf::nn
