#include "cuda.h"
#include "sheaf/base/error.h"

namespace sheaf::optim {

void adam_on_cuda(std::span<const CudaRun<AdamFactors<double>>>, void*) {
  throw UsageError("this sheaf was built without CUDA and cannot step parameters on a GPU");
}

}  // namespace sheaf::optim
