#include "swiglu.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "cpu.h"
#include "plain.h"
#include "swiglu_cuda.h"

namespace sheaf::nn {
namespace {

// Elements that are worth a thread.
constexpr std::int64_t kGrain = 1 << 14;

at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

bool are_halves(const at::Tensor& gate, const at::Tensor& up) {
  const std::int64_t hidden = gate.size(1);
  return gate.is_alias_of(up) && up.storage_offset() == gate.storage_offset() + hidden &&
         gate.stride(0) == 2 * hidden && up.stride(0) == 2 * hidden && gate.stride(1) == 1 &&
         up.stride(1) == 1;
}

/// Returns room for gradients, laid out as the inputs are.
SwigluGradients room_for(const at::Tensor& gate, const at::Tensor& up, bool with_again) {
  const std::int64_t rows = gate.size(0), hidden = gate.size(1);
  SwigluGradients result;
  if (are_halves(gate, up)) {
    const at::Tensor both = at::empty({rows, 2 * hidden}, gate.options());
    result.gate = both.narrow(1, 0, hidden);
    result.up = both.narrow(1, hidden, hidden);
  } else {
    result.gate = at::empty({rows, hidden}, gate.options());
    result.up = at::empty({rows, hidden}, gate.options());
  }
  if (with_again) result.again = at::empty({rows, hidden}, gate.options());
  return result;
}

at::Tensor by_cpu_kernel(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor g = gate.contiguous(), u = up.contiguous();
  at::Tensor y = at::empty_like(g);
  const GateElements all{.gate = g.const_data_ptr<float>(),
                         .up = u.const_data_ptr<float>(),
                         .output = y.mutable_data_ptr<float>()};
  in_parallel({y.numel(), kGrain}, [&](Part part) { best_kernels().swiglu(all, part); });
  return y;
}

SwigluGradients gradients_by_cpu_kernel(const at::Tensor& gate,
                                        const at::Tensor& up,
                                        const at::Tensor& of_result) {
  const at::Tensor g = gate.contiguous(), u = up.contiguous(), from = of_result.contiguous();
  const at::Tensor of_gate = at::empty_like(g), of_up = at::empty_like(u);
  const GateElements all{.gate = g.const_data_ptr<float>(),
                         .up = u.const_data_ptr<float>(),
                         .gradient = from.const_data_ptr<float>(),
                         .output = of_gate.mutable_data_ptr<float>(),
                         .up_gradient = of_up.mutable_data_ptr<float>()};
  in_parallel({g.numel(), kGrain}, [&](Part part) { best_kernels().swiglu_gradient(all, part); });
  return {of_gate, of_up, {}};
}

SwigluGradients gradients_by_operators(const at::Tensor& gate,
                                       const at::Tensor& up,
                                       const at::Tensor& of_result) {
  const at::Tensor g = widened(gate), from = widened(of_result);
  return {at::silu_backward(from * up, g), from * at::silu(g), {}};
}

}  // namespace

at::Tensor swiglu_rows(const at::Tensor& gate, const at::Tensor& up) {
  if (is_plain_fp32(gate) && is_plain_fp32(up)) return by_cpu_kernel(gate, up);
  at::Tensor result = at::empty({gate.size(0), gate.size(1)}, gate.options());
  if (gate.is_cuda() && swiglu_on_cuda(gate, up, result)) return result;
  return result.copy_(at::silu(widened(gate)).mul_(up));
}

SwigluGradients swiglu_rows_gradients(const at::Tensor& gate,
                                      const at::Tensor& up,
                                      const at::Tensor& of_result,
                                      bool with_again) {
  const bool on_cpu = is_plain_fp32(gate) && is_plain_fp32(up) && is_plain_fp32(of_result);
  if (on_cpu && !with_again && !are_halves(gate, up)) {
    return gradients_by_cpu_kernel(gate, up, of_result);
  }
  SwigluGradients result = room_for(gate, up, with_again);
  if (gate.is_cuda() && swiglu_gradients_on_cuda(gate, up, of_result, result)) return result;
  const SwigluGradients each = on_cpu ? gradients_by_cpu_kernel(gate, up, of_result)
                                      : gradients_by_operators(gate, up, of_result);
  result.gate.copy_(each.gate);
  result.up.copy_(each.up);
  if (with_again) result.again.copy_(swiglu_rows(gate, up));
  return result;
}

}  // namespace sheaf::nn
