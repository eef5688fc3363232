#include <torch/csrc/autograd/custom_function.h>

#include "kernels/gelu.h"
#include "kernels/plain.h"
#include "kernels/products.h"
#include "no_second_derivative.h"
#include "rows.h"
#include "sheaf/nn/linear.h"
#include "weight_gradients.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct GeluLinear : torch::autograd::Function<GeluLinear> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const at::Tensor& bias,
                            WeightLayout layout) {
    context->save_for_backward({x, weight});
    context->saved_data["in_out"] = layout == WeightLayout::in_out;
    const at::Tensor out_in = layout == WeightLayout::in_out ? weight.t() : weight;
    return times_transposed(gelu_of(as_rows(x)), out_in, bias).view(shape_with(x, out_in.size(0)));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("gelu_linear");
    const variable_list saved = context->get_saved_variables();
    const bool in_out = context->saved_data["in_out"].toBool();
    const at::Tensor x = as_rows(saved[0]);
    const at::Tensor gradient = as_rows(gradients[0]);
    variable_list result(4);
    if (context->needs_input_grad(1)) {
      const at::Tensor again = gelu_of(x);
      result[1] =
          in_out ? product_gradient(1, again, gradient) : product_gradient(1, gradient, again);
    }
    if (context->needs_input_grad(2)) result[2] = sum_gradient(2, gradient);
    if (context->needs_input_grad(0)) {
      const at::Tensor of_gelu = times_transposed(gradient, in_out ? saved[1] : saved[1].t());
      result[0] = gelu_gradient(x, of_gelu).view(saved[0].sizes());
    }
    return result;
  }
};

/// On GPUs the second GELU costs little, and the activation it saves is a sizeable part of all.
bool saves_memory(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool on_cpu = is_plain_fp32(x) && is_plain_fp32(weight);
  const bool on_gpu = x.is_cuda() && x.scalar_type() == weight.scalar_type();
  return (on_cpu || on_gpu) && bias.defined() && x.dim() > 0;
}

}  // namespace

at::Tensor gelu_linear(const at::Tensor& x,
                       const at::Tensor& weight,
                       const at::Tensor& bias,
                       WeightLayout layout) {
  const bool fits = saves_memory(x, weight, bias) && weight.dim() == 2 &&
                    x.size(-1) == weight.size(layout == WeightLayout::in_out ? 0 : 1);
  if (!fits) return nn::linear(gelu_tanh(x), weight, bias, layout);
  return GeluLinear::apply(x, weight, bias, layout);
}

}  // namespace sheaf::nn
