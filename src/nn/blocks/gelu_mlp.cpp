#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "nn/held.h"
#include "nn/kernels/fused_product.h"
#include "nn/kernels/gelu_rows.h"
#include "nn/kernels/pending_sums.h"
#include "nn/no_second_derivative.h"
#include "nn/rows.h"
#include "nn/weight_gradients.h"
#include "norm_of.h"
#include "projection.h"
#include "sheaf/nn/blocks.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Setting {
  double epsilon = 0;
  WeightLayout layout = WeightLayout::out_in;
};

/// Numbers of the arguments: all but the first one are parameters.
enum Argument : std::size_t { kX, kNormWeight, kNormBias, kIn, kInBias, kOut, kOutBias, kCount };

struct GeluMlp : torch::autograd::Function<GeluMlp> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            at::TensorList parameters,
                            const Setting& setting) {
    const auto parameter = [&](Argument number) -> const at::Tensor& {
      return parameters[number - kNormWeight];
    };
    const at::Tensor &norm_weight = parameter(kNormWeight), &norm_bias = parameter(kNormBias);
    const at::Tensor &in = parameter(kIn), &out = parameter(kOut);
    const at::Tensor rows = as_rows(x);
    NormStatistics statistics;
    const at::Tensor normal =
        norm_rows(rows, norm_weight, norm_bias, {NormKind::layer, setting.epsilon}, statistics);
    const at::Tensor in_weight = in_to_out(in, setting.layout);
    const at::Tensor inner = at::empty({rows.size(0), in_weight.size(1)}, x.options());
    const at::Tensor active =
        fused_product({.a = normal, .b = in_weight, .bias = parameter(kInBias), .inner = inner});
    context->save_for_backward(
        {x, norm_weight, norm_bias, in, out, inner, statistics.mean, statistics.inverse});
    hold(context, setting);
    return fused_product({.a = active,
                          .b = in_to_out(out, setting.layout),
                          .residual = rows,
                          .bias = parameter(kOutBias)})
        .view(x.sizes());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("gelu_mlp");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &norm_weight = saved[1], &norm_bias = saved[2], &inner = saved[5];
    const auto layout = held<Setting>(context).layout;
    const at::Tensor x = as_rows(saved[0]);
    const at::Tensor gradient = as_rows(gradients[0]);
    const NormStatistics statistics{saved[6], saved[7]};
    variable_list result(kCount + 1);
    PendingSums sums;
    at::Tensor of_inner = fused_product({.a = gradient, .b = in_to_out(saved[4], layout).t()});
    const SumTarget in_bias(kInBias, inner);
    at::Tensor active = gelu_rows_back(inner, of_inner, in_bias.place(&sums));
    result[kInBias] = in_bias.gradient();
    if (context->needs_input_grad(kOut)) {
      result[kOut] = weight_gradient(kOut, active, gradient, layout);
    }
    active.reset();
    if (context->needs_input_grad(kOutBias)) {
      result[kOutBias] = sum_gradient(kOutBias, gradient, &sums);
    }
    const bool with_in = context->needs_input_grad(kIn);
    const NormBackward of_norm{
        .of_result = fused_product({.a = of_inner, .b = in_to_out(saved[3], layout).t()}),
        .x = x,
        .weight = norm_weight,
        .statistics = statistics,
        .residual = gradient,
        .again = with_in ? at::empty_like(x) : at::Tensor(),
        .bias = norm_bias};
    result[kX] =
        norm_gradients(of_norm, kNormWeight, kNormBias, result, sums).view(saved[0].sizes());
    sums.finish();
    if (with_in) result[kIn] = weight_gradient(kIn, of_norm.again, of_inner, layout);
    return result;
  }
};

}  // namespace

at::Tensor gelu_mlp(const at::Tensor& x,
                    const NormParameters& norm,
                    const Projected& in,
                    const Projected& out,
                    WeightLayout layout) {
  check_norm("gelu_mlp", x, norm);
  const variable_list parameters{norm.weight, norm.bias, in.weight, in.bias, out.weight, out.bias};
  return GeluMlp::apply(x, at::TensorList(parameters), Setting{norm.epsilon, layout});
}

}  // namespace sheaf::nn
