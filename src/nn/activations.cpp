#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "kernels/cpu.h"
#include "kernels/gelu.h"
#include "kernels/plain.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/linear.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Elements that are worth a thread.
constexpr std::int64_t kGrain = 1 << 14;

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

/// Returns the gradients of gate and up by LibTorch's operators.
variable_list swiglu_gradients(const at::Tensor& gate,
                               const at::Tensor& up,
                               const at::Tensor& gradient) {
  return {at::silu_backward(gradient * up, gate), gradient * at::silu(gate)};
}

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& gate,
                            const at::Tensor& up) {
    context->save_for_backward({gate, up});
    if (!is_plain_fp32(gate) || !is_plain_fp32(up)) return at::silu(gate).mul_(up);
    const at::Tensor g = gate.contiguous(), u = up.contiguous();
    at::Tensor y = at::empty_like(g);
    const GateElements all{.gate = g.const_data_ptr<float>(),
                           .up = u.const_data_ptr<float>(),
                           .output = y.mutable_data_ptr<float>()};
    in_parallel({y.numel(), kGrain}, [&](Part part) { best_kernels().swiglu(all, part); });
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    if (is_recorded() || !is_plain_fp32(saved[0]) || !is_plain_fp32(saved[1])) {
      return swiglu_gradients(saved[0], saved[1], gradients[0]);
    }
    const at::Tensor g = saved[0].contiguous(), u = saved[1].contiguous();
    const at::Tensor from = gradients[0].contiguous();
    const at::Tensor of_gate = at::empty_like(g), of_up = at::empty_like(u);
    const GateElements all{.gate = g.const_data_ptr<float>(),
                           .up = u.const_data_ptr<float>(),
                           .gradient = from.const_data_ptr<float>(),
                           .output = of_gate.mutable_data_ptr<float>(),
                           .up_gradient = of_up.mutable_data_ptr<float>()};
    in_parallel({g.numel(), kGrain}, [&](Part part) { best_kernels().swiglu_gradient(all, part); });
    return {of_gate, of_up};
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
