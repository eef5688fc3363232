#include "sheaf/nn/rotary.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include <vector>

#include "kernels/rotary_rows.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Rotates by the table's angles, or back if `sign` is -1; computes in the wider type and writes
/// no temporaries but one product at a time.
at::Tensor rotated(const at::Tensor& x, const RotaryTable& table, int sign) {
  // Kernels record nothing.
  if (x.is_cuda() && x.dim() == 4 && !at::GradMode::is_enabled()) {
    return rotated_rows(x.transpose(1, 2), table.cosines, table.sines, sign).transpose(1, 2);
  }
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor cosines = table.cosines.narrow(-2, 0, x.size(-2));
  const at::Tensor sines = table.sines.narrow(-2, 0, x.size(-2));
  const at::Tensor low = x.narrow(-1, 0, half), high = x.narrow(-1, half, half);
  at::Tensor result = at::empty(x.sizes(), x.options());
  result.narrow(-1, 0, half).copy_((low * cosines).addcmul_(high, sines, -sign));
  result.narrow(-1, half, half).copy_((high * cosines).addcmul_(low, sines, sign));
  return result;
}

/// The gradient is rotated back.
struct Rotate : torch::autograd::Function<Rotate> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& cosines,
                            const at::Tensor& sines) {
    context->save_for_backward({cosines, sines});
    return rotated(x, {cosines, sines}, 1);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    return {rotated(gradients[0], {saved[0], saved[1]}, -1), {}, {}};
  }
};

}  // namespace

RotaryTable make_rotary_table(const RotaryOptions& options, at::Device device) {
  if (options.head_size < 2 || options.head_size % 2 != 0) {
    throw UsageError(
        fmt::format("rotary positions need heads of an even size, got {}", options.head_size));
  }
  // In fp64, so that far positions keep their angles.
  const at::TensorOptions wide = at::TensorOptions(at::kDouble).device(device);
  const at::Tensor exponents = at::arange(0, options.head_size, 2, wide) / options.head_size;
  const at::Tensor frequencies = at::pow(options.theta, -exponents);
  const at::Tensor angles = at::outer(at::arange(options.num_positions, wide), frequencies);
  return {angles.cos().to(options.type), angles.sin().to(options.type)};
}

RotaryTable rows_at(const RotaryTable& table, const at::Tensor& positions) {
  const std::vector<std::int64_t> shape{
      positions.size(0), 1, positions.size(1), table.cosines.size(1)};
  const at::Tensor rows = positions.flatten();
  return {table.cosines.index_select(0, rows).view(shape),
          table.sines.index_select(0, rows).view(shape)};
}

at::Tensor rotate(const at::Tensor& x, const RotaryTable& table) {
  const bool by_text = table.cosines.dim() == 4;
  if (x.dim() < 2 || x.size(-1) != 2 * table.cosines.size(-1) ||
      x.size(-2) > table.cosines.size(-2) ||
      (by_text && (x.dim() != 4 || x.size(0) != table.cosines.size(0)))) {
    throw UsageError(
        fmt::format("a rotary table of {} positions{} for heads of {} cannot rotate shape {}",
                    table.cosines.size(-2),
                    by_text ? fmt::format(" for {} texts", table.cosines.size(0)) : "",
                    2 * table.cosines.size(-1),
                    fmt::streamed(x.sizes())));
  }
  return Rotate::apply(x, table.cosines, table.sines);
}

}  // namespace sheaf::nn
