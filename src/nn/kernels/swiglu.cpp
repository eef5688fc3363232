#include "swiglu.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include <algorithm>

#include "cpu.h"
#include "plain.h"
#include "swiglu_cuda.h"
#include "widened.h"

namespace sheaf::nn {
namespace {

// Elements that are worth a thread.
constexpr std::int64_t kGrain = 1 << 14;

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

at::Tensor with_dense_rows(const at::Tensor& x) { return x.stride(1) == 1 ? x : x.contiguous(); }

/// Calls `body` with a row's number, for all rows, in parallel.
template <class Body>
void for_rows(const at::Tensor& like, const Body& body) {
  const std::int64_t grain = kGrain / std::max<std::int64_t>(like.size(1), 1) + 1;
  in_parallel({like.size(0), grain}, [&](Part rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) body(row);
  });
}

const float* row_of(const at::Tensor& x, std::int64_t row) {
  return x.const_data_ptr<float>() + row * x.stride(0);
}

float* room_of(const at::Tensor& x, std::int64_t row) {
  return x.mutable_data_ptr<float>() + row * x.stride(0);
}

at::Tensor by_cpu_kernel(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor g = with_dense_rows(gate), u = with_dense_rows(up);
  at::Tensor y = at::empty({g.size(0), g.size(1)}, g.options());
  for_rows(y, [&](std::int64_t row) {
    best_kernels().swiglu({.gate = row_of(g, row), .up = row_of(u, row), .output = room_of(y, row)},
                          {0, y.size(1)});
  });
  return y;
}

void gradients_by_cpu_kernel(const at::Tensor& gate,
                             const at::Tensor& up,
                             const at::Tensor& of_result,
                             const SwigluGradients& out) {
  const at::Tensor g = with_dense_rows(gate), u = with_dense_rows(up);
  const at::Tensor from = with_dense_rows(of_result);
  const Part columns{0, g.size(1)};
  for_rows(g, [&](std::int64_t row) {
    GateElements all{.gate = row_of(g, row),
                     .up = row_of(u, row),
                     .gradient = row_of(from, row),
                     .output = room_of(out.gate, row),
                     .up_gradient = room_of(out.up, row)};
    best_kernels().swiglu_gradient(all, columns);
    if (!out.again.defined()) return;
    all.output = room_of(out.again, row);
    best_kernels().swiglu(all, columns);
  });
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
  SwigluGradients result = room_for(gate, up, with_again);
  if (is_plain_fp32(gate) && is_plain_fp32(up) && is_plain_fp32(of_result)) {
    gradients_by_cpu_kernel(gate, up, of_result, result);
    return result;
  }
  if (gate.is_cuda() && swiglu_gradients_on_cuda(gate, up, of_result, result)) return result;
  const SwigluGradients each = gradients_by_operators(gate, up, of_result);
  result.gate.copy_(each.gate);
  result.up.copy_(each.up);
  if (with_again) result.again.copy_(swiglu_rows(gate, up));
  return result;
}

}  // namespace sheaf::nn
