#include "gelu.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

#include "cpu.h"
#include "plain.h"

namespace sheaf::nn {
namespace {

// Elements that are worth a thread.
constexpr std::int64_t kGrain = 1 << 14;

}  // namespace

at::Tensor gelu_of(const at::Tensor& x) {
  if (!is_plain_fp32(x)) return at::gelu(x, "tanh");
  const at::Tensor dense = x.contiguous();
  at::Tensor y = at::empty_like(dense);
  const float* const values = dense.const_data_ptr<float>();
  float* const results = y.mutable_data_ptr<float>();
  in_parallel({y.numel(), kGrain}, [&](Part part) { best_kernels().gelu(values, results, part); });
  return y;
}

at::Tensor gelu_gradient(const at::Tensor& x, const at::Tensor& gradient) {
  if (!is_plain_fp32(x)) return at::gelu_backward(gradient, x, "tanh");
  const at::Tensor dense = x.contiguous(), from = gradient.contiguous();
  at::Tensor result = at::empty_like(dense);
  const float* const values = dense.const_data_ptr<float>();
  const float* const gradients = from.const_data_ptr<float>();
  float* const results = result.mutable_data_ptr<float>();
  in_parallel({result.numel(), kGrain},
              [&](Part part) { best_kernels().gelu_gradient(values, gradients, results, part); });
  return result;
}

}  // namespace sheaf::nn
