#include "norm_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sum.h>

#include <utility>

#include "norm_rows_cuda.h"

namespace sheaf::nn {
namespace {

at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

/// Returns x - mean, where there is one, in a wide type.
at::Tensor centred(const at::Tensor& x, const NormStatistics& statistics) {
  const at::Tensor wide = widened(x);
  return statistics.mean.defined() ? wide - statistics.mean.unsqueeze(1) : wide;
}

NormStatistics statistics_of(const at::Tensor& x, const NormOptions& options) {
  const at::Tensor wide = widened(x);
  NormStatistics result;
  if (options.kind == NormKind::layer) result.mean = wide.mean(1);
  result.inverse = centred(wide, result).square().mean(1).add_(options.epsilon).rsqrt_();
  return result;
}

NormGradients gradients_by_operators(const NormBackward& in) {
  const at::Tensor inverse = in.statistics.inverse.unsqueeze(1);
  const at::Tensor normal = centred(in.x, in.statistics) * inverse;
  const at::Tensor gradient = widened(in.of_result);
  const at::Tensor weighted = gradient * widened(in.weight);
  at::Tensor of_x = weighted - normal * (weighted * normal).mean(1, /*keepdim=*/true);
  if (in.statistics.mean.defined()) of_x -= weighted.mean(1, /*keepdim=*/true);
  of_x *= inverse;
  if (in.residual.defined()) of_x += in.residual;
  return {of_x.to(in.x.scalar_type()),
          (gradient * normal).sum(0),
          in.with_bias ? gradient.sum(0) : at::Tensor()};
}

}  // namespace

at::Tensor norm_rows(const at::Tensor& x,
                     const at::Tensor& weight,
                     const at::Tensor& bias,
                     const NormOptions& options,
                     NormStatistics& statistics) {
  if (x.is_cuda()) {
    at::Tensor result = norm_rows_on_cuda(x, weight, bias, options, statistics);
    if (result.defined()) return result;
  }
  statistics = statistics_of(x, options);
  return norm_rows_again(x, weight, bias, statistics);
}

at::Tensor norm_rows_again(const at::Tensor& x,
                           const at::Tensor& weight,
                           const at::Tensor& bias,
                           const NormStatistics& statistics) {
  if (x.is_cuda()) {
    at::Tensor result = norm_rows_again_on_cuda(x, weight, bias, statistics);
    if (result.defined()) return result;
  }
  at::Tensor result = centred(x, statistics) * statistics.inverse.unsqueeze(1);
  result *= widened(weight);
  if (bias.defined()) result += widened(bias);
  return result.to(x.scalar_type());
}

// NOLINTNEXTLINE(readability-function-size): its callers have these six and nothing to put them in
NormGradients norm_rows_gradients(const at::Tensor& of_result,
                                  const at::Tensor& x,
                                  const at::Tensor& weight,
                                  const NormStatistics& statistics,
                                  bool with_bias,
                                  const at::Tensor& residual) {
  const NormBackward in{of_result, x, weight, statistics, with_bias, residual};
  if (x.is_cuda()) {
    NormGradients result = norm_rows_gradients_on_cuda(in);
    if (result.x.defined()) return result;
  }
  return gradients_by_operators(in);
}

}  // namespace sheaf::nn
