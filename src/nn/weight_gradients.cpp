#include "weight_gradients.h"

#include <ATen/ops/empty.h>

#include "kernels/column_sums.h"
#include "kernels/fused_product.h"

namespace sheaf::nn {

module::GradientTarget open_product_gradient(std::size_t input, at::ScalarType type) {
  const bool is_narrow = type == at::kBFloat16 || type == at::kHalf;
  if (is_narrow) {
    if (auto wide = module::open_gradient(input, at::kFloat)) return wide;
  }
  return module::open_gradient(input, type);
}

at::Tensor product_gradient(std::size_t input, const at::Tensor& a, const at::Tensor& b) {
  return product_gradient(open_product_gradient(input, a.scalar_type()), a, b);
}

at::Tensor product_gradient(const module::GradientTarget& target,
                            const at::Tensor& a,
                            const at::Tensor& b) {
  if (!target) return fused_product({.a = a.t(), .b = b});
  target.fill(
      [&] { fused_product({.a = a.t(), .b = b, .result = target.memory, .adds = !target.is_new}); },
      {a, b});
  return {};
}

at::Tensor sum_gradient(std::size_t input, const at::Tensor& rows, PendingSums* later) {
  const SumTarget target(input, rows);
  if (module::Beside* const beside = target.beside()) {
    beside->run([&] { column_sums(rows, target.place()); }, {rows});
  } else {
    column_sums(rows, target.place(later));
  }
  return target.gradient();
}

SumTarget::SumTarget(std::size_t input, const at::Tensor& like, std::int64_t size)
    : target_(open_product_gradient(input, like.scalar_type())),
      memory_(target_ ? target_.memory : at::empty({size}, like.options())) {}

}  // namespace sheaf::nn
