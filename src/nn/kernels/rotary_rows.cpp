#include "rotary_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>

#include "rotary_rows_cuda.h"

namespace sheaf::nn {
namespace {

/// Returns the rows of a table that `x` needs, shaped so that they fit all its heads.
at::Tensor rows_for(const at::Tensor& x, const at::Tensor& table) {
  const at::Tensor rows = table.narrow(-2, 0, x.size(1));
  return rows.dim() == 4 ? rows.transpose(1, 2) : rows.unsqueeze(1);
}

/// Both halves are computed before either is written: `to` may be `from`.
void by_operators(const at::Tensor& from, const at::Tensor& to, const RotaryAngles& by) {
  const std::int64_t half = from.size(-1) / 2;
  const at::Tensor cosines = rows_for(from, by.cosines), sines = rows_for(from, by.sines);
  const at::Tensor low = from.narrow(-1, 0, half), high = from.narrow(-1, half, half);
  const at::Tensor turned_low = (low * cosines).addcmul_(high, sines, -by.sign);
  const at::Tensor turned_high = (high * cosines).addcmul_(low, sines, by.sign);
  to.narrow(-1, 0, half).copy_(turned_low);
  to.narrow(-1, half, half).copy_(turned_high);
}

void rotate_into(const at::Tensor& from, const at::Tensor& to, const RotaryAngles& by) {
  if (from.is_cuda() && rotate_on_cuda(from, to, by)) return;
  by_operators(from, to, by);
}

}  // namespace

void rotate_rows_(at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines, int sign) {
  rotate_into(x, x, {cosines, sines, sign});
}

at::Tensor rotated_rows(const at::Tensor& x,
                        const at::Tensor& cosines,
                        const at::Tensor& sines,
                        int sign) {
  at::Tensor result = at::empty(x.sizes(), x.options());
  rotate_into(x, result, {cosines, sines, sign});
  return result;
}

}  // namespace sheaf::nn
