#include "sheaf/nn/norm.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/rsqrt.h>

#include <string_view>

#include "kernels/norm_rows.h"
#include "kernels/widened.h"
#include "rows.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor inverse_root(const at::Tensor& x, double epsilon) {
  return x.square().mean(-1, /*keepdim=*/true).add(epsilon).rsqrt();
}

/// Returns the gradients of input and weight that `context` needs by LibTorch's operators, which
/// have derivatives of their own. With r = 1 / root and g' = g weight, that of the input is
/// r (g' - x r^2 mean(g' x)).
variable_list rms_gradients_by_operators(const AutogradContext* context,
                                         const variable_list& saved,
                                         const at::Tensor& inverse,
                                         const at::Tensor& of_result) {
  const at::Tensor normal = widened(saved[0]) * inverse;
  const at::Tensor gradient = widened(of_result);
  variable_list result(3);
  if (context->needs_input_grad(1)) {
    const at::Tensor each = gradient * normal;
    result[1] = each.reshape({-1, normal.size(-1)}).sum(0).to(saved[1].scalar_type());
  }
  if (context->needs_input_grad(0)) {
    const at::Tensor weighted = gradient * widened(saved[1]);
    const at::Tensor along = (weighted * normal).mean(-1, /*keepdim=*/true);
    result[0] = ((weighted - normal * along) * inverse).to(saved[0].scalar_type());
  }
  return result;
}

/// Keeps the input and one number per row.
struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            double epsilon) {
    context->saved_data["epsilon"] = epsilon;
    if (x.is_cuda()) {
      NormStatistics statistics;
      const at::Tensor result =
          norm_rows(as_rows(x), weight, {}, {NormKind::root_mean_square, epsilon}, statistics);
      context->save_for_backward({x, weight, statistics.inverse});
      return result.view(x.sizes());
    }
    const at::Tensor wide = widened(x);
    const at::Tensor inverse = inverse_root(wide, epsilon);
    context->save_for_backward({x, weight, inverse});
    return (wide * inverse).mul_(widened(weight)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    if (at::GradMode::is_enabled()) {
      // A second derivative needs what it depends on.
      const double epsilon = context->saved_data["epsilon"].toDouble();
      return rms_gradients_by_operators(
          context, saved, inverse_root(widened(x), epsilon), gradients[0]);
    }
    if (!x.is_cuda()) return rms_gradients_by_operators(context, saved, saved[2], gradients[0]);
    const NormGradients result = norm_rows_gradients(
        {as_rows(gradients[0]), as_rows(x), weight, {{}, saved[2]}}, /*with_bias=*/false);
    return {result.x.view(x.sizes()), result.weight.to(weight.scalar_type()), {}};
  }
};

/// On GPUs: keeps the input and two numbers per row.
struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const at::Tensor& bias,
                            double epsilon) {
    NormStatistics statistics;
    const at::Tensor result =
        norm_rows(as_rows(x), weight, bias, {NormKind::layer, epsilon}, statistics);
    context->save_for_backward({x, weight, bias, statistics.mean, statistics.inverse});
    return result.view(x.sizes());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const NormStatistics statistics{saved[3], saved[4]};
    if (at::GradMode::is_enabled()) {
      std::vector<std::int64_t> shape = x.sizes().vec();
      shape.back() = 1;
      const auto [of_x, of_weight, of_bias] =
          at::native_layer_norm_backward(gradients[0],
                                         x,
                                         weight.sizes(),
                                         statistics.mean.view(shape),
                                         statistics.inverse.view(shape),
                                         weight,
                                         bias,
                                         {true, true, true});
      return {of_x, of_weight, of_bias, {}};
    }
    const NormGradients result = norm_rows_gradients(
        {as_rows(gradients[0]), as_rows(x), weight, statistics}, /*with_bias=*/true);
    return {result.x.view(x.sizes()),
            result.weight.to(weight.scalar_type()),
            result.bias.to(bias.scalar_type()),
            {}};
  }
};

void check_length(std::string_view norm, const at::Tensor& x, const at::Tensor& factors) {
  if (x.dim() > 0 && factors.dim() == 1 && factors.size(0) == x.size(-1) && factors.size(0) > 0) {
    return;
  }
  throw UsageError(
      fmt::format("{} of an input of shape {} needs a weight as long as its rows, got {}",
                  norm,
                  fmt::streamed(x.sizes()),
                  fmt::streamed(factors.sizes())));
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  check_length("rms_norm", x, weight);
  return RmsNorm::apply(x, weight, epsilon);
}

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon) {
  check_length("layer_norm", x, weight);
  check_length("layer_norm", x, bias);
  if (!x.is_cuda()) return at::layer_norm(x, weight.sizes(), weight, bias, epsilon);
  return LayerNorm::apply(x, weight, bias, epsilon);
}

}  // namespace sheaf::nn
