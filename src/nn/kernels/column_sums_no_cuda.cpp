#include "column_sums_cuda.h"

namespace sheaf::nn {

bool column_sums_on_cuda(const at::Tensor&, at::Tensor&, bool) { return false; }

}  // namespace sheaf::nn
