#include "gelu_rows.h"

#include "column_sums.h"
#include "gelu.h"
#include "gelu_rows_cuda.h"

namespace sheaf::nn {

at::Tensor gelu_rows_back(const at::Tensor& inner,
                          at::Tensor& gradient,
                          at::Tensor& sums,
                          bool adds) {
  if (inner.is_cuda()) {
    const at::Tensor again = gelu_rows_back_on_cuda(inner, gradient, sums, adds);
    if (again.defined()) return again;
  }
  gradient.copy_(gelu_gradient(inner, gradient));
  column_sums(gradient, sums, adds);
  return gelu_of(inner);
}

}  // namespace sheaf::nn
