#include <c10/util/accumulate.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "kernels/gelu.h"
#include "kernels/plain.h"
#include "kernels/swiglu.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/linear.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Says whether backward must itself be differentiable, which only LibTorch's operators are.
bool is_recorded() { return at::GradMode::is_enabled(); }

struct Gelu : torch::autograd::Function<Gelu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return gelu_of(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    if (is_recorded()) return {at::gelu_backward(gradients[0], x, "tanh")};
    return {gelu_gradient(x, gradients[0])};
  }
};

/// Says whether kernels of our own take them; others go to LibTorch's operators as they are.
bool have_kernels(const at::Tensor& gate, const at::Tensor& up) {
  return (gate.is_cuda() && up.is_cuda()) || (is_plain_fp32(gate) && is_plain_fp32(up));
}

/// Returns `x` as a matrix of its rows, without a copy where they are at equal distances.
at::Tensor spaced_rows(const at::Tensor& x) {
  if (x.dim() == 0) return x.view({1, 1});
  const std::int64_t rows = c10::multiply_integers(x.sizes().slice(0, x.dim() - 1));
  return x.reshape({rows, x.size(-1)});
}

/// The gradients by operators that have derivatives themselves; LibTorch's silu_backward has none.
variable_list recorded_gradients(const at::Tensor& gate,
                                 const at::Tensor& up,
                                 const at::Tensor& gradient) {
  const at::Tensor s = gate.sigmoid();
  return {gradient * up * s * (1 + gate * (1 - s)), gradient * gate * s};
}

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& gate,
                            const at::Tensor& up) {
    context->save_for_backward({gate, up});
    if (!have_kernels(gate, up)) return at::silu(gate).mul_(up);
    return swiglu_rows(spaced_rows(gate), spaced_rows(up)).view(gate.sizes());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], &gradient = gradients[0];
    if (is_recorded()) return recorded_gradients(gate, up, gradient);
    if (!have_kernels(gate, up)) {
      return {at::silu_backward(gradient * up, gate), gradient * at::silu(gate)};
    }
    const SwigluGradients result = swiglu_rows_gradients(
        spaced_rows(gate), spaced_rows(up), spaced_rows(gradient), /*with_again=*/false);
    return {result.gate.view(gate.sizes()), result.up.view(up.sizes())};
  }
};

}  // namespace

at::Tensor gelu_tanh(const at::Tensor& x) {
  return is_plain_fp32(x) ? Gelu::apply(x) : at::gelu(x, "tanh");
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (gate.sizes() != up.sizes()) {
    throw UsageError(fmt::format("swiglu needs two inputs of one shape, got {} and {}",
                                 fmt::streamed(gate.sizes()),
                                 fmt::streamed(up.sizes())));
  }
  return SwiGlu::apply(gate, up);
}

}  // namespace sheaf::nn
