#include "column_sums.h"

#include <ATen/ops/sum.h>

#include "column_sums_cuda.h"

namespace sheaf::nn {

void column_sums(const at::Tensor& rows, const VectorTarget& target) {
  if (rows.is_cuda() && column_sums_on_cuda(rows, target)) return;
  const at::ScalarType wide = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor sums = rows.sum(0, /*keepdim=*/false, wide);
  target.adds ? target.memory.add_(sums) : target.memory.copy_(sums);
}

}  // namespace sheaf::nn
