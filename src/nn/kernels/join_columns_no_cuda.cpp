#include "join_columns_cuda.h"

namespace sheaf::nn {

at::Tensor join_columns_on_cuda(const std::vector<at::Tensor>&, const VectorTarget&) { return {}; }

}  // namespace sheaf::nn
