#include "column_sums_cuda.h"

namespace sheaf::nn {

bool column_sums_on_cuda(const at::Tensor&, const VectorTarget&) { return false; }

}  // namespace sheaf::nn
