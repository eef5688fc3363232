#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/held.h"
#include "nn/kernels/fused_product.h"
#include "nn/no_second_derivative.h"
#include "nn/rows.h"
#include "nn/weight_gradients.h"
#include "projection.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/blocks.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Parameters are the weight and, where there is one, the bias.
struct LinearWithResidual : torch::autograd::Function<LinearWithResidual> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& residual,
                            at::TensorList parameters,
                            WeightLayout layout) {
    context->save_for_backward({x, parameters[0]});
    hold(context, layout);
    context->saved_data["parameters"] = static_cast<std::int64_t>(parameters.size());
    return fused_product({.a = as_rows(x),
                          .b = in_to_out(parameters[0], layout),
                          .residual = as_rows(residual),
                          .bias = parameters.size() > 1 ? parameters[1] : at::Tensor()})
        .view(residual.sizes());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("linear_with_residual");
    const variable_list saved = context->get_saved_variables();
    const auto layout = held<WeightLayout>(context);
    const auto num_parameters = static_cast<std::size_t>(context->saved_data["parameters"].toInt());
    const at::Tensor gradient = as_rows(gradients[0]);
    variable_list result(3 + num_parameters);
    result[1] = gradients[0];
    if (context->needs_input_grad(2)) {
      result[2] = weight_gradient(2, as_rows(saved[0]), gradient, layout);
    }
    if (num_parameters > 1 && context->needs_input_grad(3)) result[3] = sum_gradient(3, gradient);
    if (context->needs_input_grad(0)) {
      result[0] = fused_product({.a = gradient, .b = in_to_out(saved[1], layout).t()})
                      .view(saved[0].sizes());
    }
    return result;
  }
};

}  // namespace

at::Tensor linear_with_residual(const at::Tensor& x,
                                const Projected& projection,
                                const at::Tensor& residual,
                                WeightLayout layout) {
  const at::Tensor in_out = in_to_out(projection.weight, layout);
  if (x.size(-1) != in_out.size(0) || residual.sizes() != shape_with(x, in_out.size(1))) {
    throw UsageError(
        fmt::format("linear_with_residual cannot multiply an input of shape {} by a weight of "
                    "shape {} and add it to a residual of shape {}",
                    fmt::streamed(x.sizes()),
                    fmt::streamed(projection.weight.sizes()),
                    fmt::streamed(residual.sizes())));
  }
  std::vector<at::Tensor> parameters{projection.weight};
  if (projection.bias.defined()) parameters.push_back(projection.bias);
  return LinearWithResidual::apply(x, residual, at::TensorList(parameters), layout);
}

}  // namespace sheaf::nn
