#include "weight_gradients.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include "kernels/products.h"
#include "sheaf/module/gradient_sink.h"

namespace sheaf::nn {

at::Tensor product_gradient(std::size_t input, const at::Tensor& a, const at::Tensor& b) {
  const module::GradientTarget target = module::open_gradient(input, a.scalar_type());
  if (!target) return transposed_times(a, b);
  at::Tensor memory = target.memory;
  target.is_new ? at::mm_out(memory, a.t(), b) : memory.addmm_(a.t(), b);
  return {};
}

at::Tensor sum_gradient(std::size_t input, const at::Tensor& rows) {
  const module::GradientTarget target = module::open_gradient(input, rows.scalar_type());
  if (!target) return rows.sum(0);
  at::Tensor memory = target.memory;
  target.is_new ? at::sum_out(memory, rows, 0) : memory.add_(rows.sum(0));
  return {};
}

}  // namespace sheaf::nn
