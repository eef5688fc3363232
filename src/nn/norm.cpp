#include "sheaf/nn/norm.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>

#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

at::Tensor inverse_root(const at::Tensor& x, double epsilon) {
  return x.square().mean(-1, /*keepdim=*/true).add(epsilon).rsqrt();
}

/// Keeps the input and one number per row. With r = 1 / root and g' = g weight, the gradient of the
/// input is r (g' - x r^2 mean(g' x)).
struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            double epsilon) {
    const at::Tensor wide = widened(x);
    const at::Tensor inverse = inverse_root(wide, epsilon);
    context->save_for_backward({x, weight, inverse});
    context->saved_data["epsilon"] = epsilon;
    return (wide * inverse).mul_(widened(weight)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor x = widened(saved[0]), weight = widened(saved[1]);
    const at::Tensor gradient = widened(gradients[0]);
    // A second derivative needs what it depends on.
    const at::Tensor inverse = at::GradMode::is_enabled()
                                   ? inverse_root(x, context->saved_data["epsilon"].toDouble())
                                   : saved[2];
    const at::Tensor normal = x * inverse;
    variable_list result(3);
    if (context->needs_input_grad(1)) {
      const at::Tensor each = gradient * normal;
      result[1] = each.reshape({-1, x.size(-1)}).sum(0).to(saved[1].scalar_type());
    }
    if (context->needs_input_grad(0)) {
      const at::Tensor weighted = gradient * weight;
      const at::Tensor along = (weighted * normal).mean(-1, /*keepdim=*/true);
      result[0] = ((weighted - normal * along) * inverse).to(saved[0].scalar_type());
    }
    return result;
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  if (x.dim() == 0 || weight.dim() != 1 || weight.size(0) != x.size(-1) || weight.size(0) == 0) {
    throw UsageError(
        fmt::format("rms_norm of an input of shape {} needs a weight as long as its rows, got {}",
                    fmt::streamed(x.sizes()),
                    fmt::streamed(weight.sizes())));
  }
  return RmsNorm::apply(x, weight, epsilon);
}

}  // namespace sheaf::nn
