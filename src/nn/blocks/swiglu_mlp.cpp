#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "nn/held.h"
#include "nn/kernels/fused_product.h"
#include "nn/kernels/pending_sums.h"
#include "nn/kernels/swiglu.h"
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

/// Numbers of the arguments.
enum Argument : std::size_t { kX, kNormWeight, kGate, kUp, kDown, kCount };

/// Returns x times both weights, side by side.
at::Tensor gate_and_up(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& up) {
  if (const at::Tensor both = joined_rows({gate, up}); both.defined()) {
    return fused_product({.a = x, .b = both.t()});
  }
  const std::int64_t hidden = gate.size(0);
  at::Tensor result = at::empty({x.size(0), 2 * hidden}, x.options());
  fused_product({.a = x, .b = gate.t(), .result = result.narrow(1, 0, hidden)});
  fused_product({.a = x, .b = up.t(), .result = result.narrow(1, hidden, hidden)});
  return result;
}

/// Undoes it for gradients.
at::Tensor back_through(const at::Tensor& gradient, const at::Tensor& gate, const at::Tensor& up) {
  if (const at::Tensor both = joined_rows({gate, up}); both.defined()) {
    return fused_product({.a = gradient, .b = both});
  }
  const std::int64_t hidden = gate.size(0);
  at::Tensor result = fused_product({.a = gradient.narrow(1, 0, hidden), .b = gate});
  return fused_product(
      {.a = gradient.narrow(1, hidden, hidden), .b = up, .result = result, .adds = true});
}

struct SwigluMlp : torch::autograd::Function<SwigluMlp> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& norm_weight,
                            const at::Tensor& gate,
                            const at::Tensor& up,
                            const at::Tensor& down,
                            double epsilon) {
    const at::Tensor rows = as_rows(x);
    NormStatistics statistics;
    const at::Tensor normal =
        norm_rows(rows, norm_weight, {}, {NormKind::root_mean_square, epsilon}, statistics);
    const at::Tensor both = gate_and_up(normal, gate, up);
    const std::int64_t hidden = gate.size(0);
    const at::Tensor active =
        swiglu_rows(both.narrow(1, 0, hidden), both.narrow(1, hidden, hidden));
    context->save_for_backward({x, norm_weight, gate, up, down, both, statistics.inverse});
    return fused_product({.a = active, .b = down.t(), .residual = rows}).view(x.sizes());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("swiglu_mlp");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &norm_weight = saved[1], &gate = saved[2], &up = saved[3], &both = saved[5];
    const at::Tensor x = as_rows(saved[0]);
    const at::Tensor gradient = as_rows(gradients[0]);
    const NormStatistics statistics{{}, saved[6]};
    const std::int64_t hidden = gate.size(0);
    variable_list result(kCount + 1);
    const at::Tensor of_active = fused_product({.a = gradient, .b = saved[4]});
    SwigluGradients of_both = swiglu_rows_gradients(both.narrow(1, 0, hidden),
                                                    both.narrow(1, hidden, hidden),
                                                    of_active,
                                                    /*with_again=*/true);
    result[kDown] = weight_gradient(kDown, of_both.again, gradient, WeightLayout::out_in);
    of_both.again.reset();
    const at::Tensor side_by_side = joined_columns(of_both.gate, of_both.up);
    const NormBackward of_norm{.of_result = back_through(side_by_side, gate, up),
                               .x = x,
                               .weight = norm_weight,
                               .statistics = statistics,
                               .residual = gradient,
                               .again = at::empty_like(x)};
    PendingSums sums;
    result[kX] = norm_gradients(of_norm, kNormWeight, {}, result, sums).view(saved[0].sizes());
    sums.finish();
    const auto of_weights = weight_gradients(kGate, of_norm.again, side_by_side, {hidden, hidden});
    result[kGate] = of_weights[0];
    result[kUp] = of_weights[1];
    return result;
  }
};

}  // namespace

at::Tensor swiglu_mlp(const at::Tensor& x,
                      const NormParameters& norm,
                      const at::Tensor& gate,
                      const at::Tensor& up,
                      const at::Tensor& down) {
  check_norm("swiglu_mlp", x, norm);
  return SwigluMlp::apply(x, norm.weight, gate, up, down, norm.epsilon);
}

}  // namespace sheaf::nn
