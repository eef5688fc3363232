#include "sheaf/nn/linear.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/linear.h>

#include "kernels/products.h"
#include "rows.h"
#include "sheaf/base/error.h"
#include "weight_gradients.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What backward saves: the input only for the gradient of the weight, and the other way round.
struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            WeightLayout layout) {
    context->save_for_backward(
        {weight.requires_grad() ? x : at::Tensor(), x.requires_grad() ? weight : at::Tensor()});
    context->saved_data["in_out"] = layout == WeightLayout::in_out;
    context->saved_data["shape"] = x.sizes();
    context->saved_data["has_bias_gradient"] = bias && bias->requires_grad();
    const at::Tensor out_in = layout == WeightLayout::in_out ? weight.t() : weight;
    return times_transposed(as_rows(x), out_in, bias.value_or(at::Tensor()))
        .view(shape_with(x, out_in.size(0)));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const bool in_out = context->saved_data["in_out"].toBool();
    const at::Tensor gradient = as_rows(gradients[0]);
    variable_list result(4);
    if (context->needs_input_grad(0)) {
      const at::Tensor in_out_weight = in_out ? saved[1] : saved[1].t();
      result[0] = times_transposed(gradient, in_out_weight)
                      .view(context->saved_data["shape"].toIntVector());
    }
    if (context->needs_input_grad(1)) {
      const at::Tensor x = as_rows(saved[0]);
      result[1] = in_out ? product_gradient(1, x, gradient) : product_gradient(1, gradient, x);
    }
    if (context->saved_data["has_bias_gradient"].toBool()) result[2] = sum_gradient(2, gradient);
    return result;
  }
};

void check_shapes(const at::Tensor& x, const at::Tensor& weight, WeightLayout layout) {
  const std::int64_t in =
      weight.dim() == 2 ? weight.size(layout == WeightLayout::in_out ? 0 : 1) : -1;
  if (x.dim() > 0 && x.size(-1) == in) return;
  throw UsageError(
      fmt::format("linear cannot multiply an input of shape {} by a weight of shape {}",
                  fmt::streamed(x.sizes()),
                  fmt::streamed(weight.sizes())));
}

}  // namespace

at::Tensor linear(const at::Tensor& x,
                  const at::Tensor& weight,
                  const at::Tensor& bias,
                  WeightLayout layout) {
  check_shapes(x, weight, layout);
  const bool on_cpu = x.is_cpu() && x.scalar_type() == at::kFloat;
  if (!(on_cpu || x.is_cuda()) || x.scalar_type() != weight.scalar_type()) {
    return at::linear(x, layout == WeightLayout::in_out ? weight.t() : weight, bias);
  }
  // What is undefined cannot be an input.
  const auto added = bias.defined() ? std::optional(bias) : std::nullopt;
  return Linear::apply(x, weight, added, layout);
}

}  // namespace sheaf::nn
