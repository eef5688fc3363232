#include "norm_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <utility>

#include "awake.h"
#include "cpu.h"
#include "norm_rows_cuda.h"
#include "plain.h"
#include "row_blocks.h"
#include "widened.h"

namespace sheaf::nn {
namespace {

// Rows that are worth a thread.
constexpr std::int64_t kRowsOfAPart = 64;

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

at::Tensor norm_by_operators(const at::Tensor& x,
                             const at::Tensor& weight,
                             const at::Tensor& bias,
                             const NormStatistics& statistics) {
  at::Tensor result = centred(x, statistics) * statistics.inverse.unsqueeze(1);
  result *= widened(weight);
  if (bias.defined()) result += widened(bias);
  return result.to(x.scalar_type());
}

NormGradients gradients_by_operators(const NormBackward& in, bool with_bias) {
  if (in.again.defined()) {
    in.again.copy_(norm_by_operators(in.x, in.weight, in.bias, in.statistics));
  }
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
          with_bias ? gradient.sum(0) : at::Tensor()};
}

/// Says whether the CPU kernels can take it: fp32, one row behind the other.
bool is_plain(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return is_plain_fp32(x) && x.is_contiguous() && is_plain_fp32(weight) && weight.is_contiguous() &&
         (!bias.defined() || (is_plain_fp32(bias) && bias.is_contiguous()));
}

const float* values_of(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr<float>() : nullptr;
}

float* memory_of(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr<float>() : nullptr;
}

/// The statistics are known already where there is no epsilon.
NormElements elements_of(const at::Tensor& x,
                         const at::Tensor& result,
                         const NormStatistics& statistics,
                         std::optional<double> epsilon) {
  return {.x = values_of(x),
          .y = memory_of(result),
          .width = x.size(1),
          .mean = memory_of(statistics.mean),
          .inverse = memory_of(statistics.inverse),
          .epsilon = static_cast<float>(epsilon.value_or(0)),
          .is_known = !epsilon};
}

at::Tensor by_kernel(const at::Tensor& x,
                     const at::Tensor& weight,
                     const at::Tensor& bias,
                     const NormStatistics& statistics,
                     double epsilon) {
  at::Tensor result = at::empty_like(x);
  const auto [factors, added] = awake(weight, bias);
  NormElements all = elements_of(x, result, statistics, epsilon);
  all.weight = values_of(factors);
  all.bias = values_of(added);
  in_parallel({x.size(0), kRowsOfAPart}, [&](Part rows) { best_kernels().norm(all, rows); });
  return result;
}

NormGradients gradients_by_kernel(const NormBackward& in, bool with_bias) {
  const std::int64_t width = in.x.size(1);
  const RowBlocks blocks(in.x.size(0));
  const at::Tensor of_weight = at::zeros({blocks.count(), width}, in.x.options());
  const at::Tensor of_bias =
      with_bias ? at::zeros({blocks.count(), width}, in.x.options()) : at::Tensor();
  const at::Tensor of_x = at::empty_like(in.x);
  const auto [factors, added] = awake(in.weight, in.bias);
  NormElements again = elements_of(in.x, in.again, in.statistics, std::nullopt);
  again.weight = values_of(factors);
  again.bias = values_of(added);
  const NormGradientElements all{.of_result = values_of(in.of_result),
                                 .x = values_of(in.x),
                                 .width = width,
                                 .weight = values_of(factors),
                                 .mean = values_of(in.statistics.mean),
                                 .inverse = values_of(in.statistics.inverse),
                                 .residual = values_of(in.residual),
                                 .of_x = memory_of(of_x),
                                 .of_weight = memory_of(of_weight),
                                 .of_bias = memory_of(of_bias)};
  blocks.for_each([&](std::int64_t block, Part rows) {
    NormGradientElements part = all;
    part.of_weight += block * width;
    if (part.of_bias != nullptr) part.of_bias += block * width;
    best_kernels().norm_gradients(part, rows);
    // The block's rows are in the cache still.
    if (again.y != nullptr) best_kernels().norm(again, rows);
  });
  return {of_x, of_weight.sum(0), with_bias ? of_bias.sum(0) : at::Tensor()};
}

NormGradients gradients_beside_cuda(const NormBackward& in, bool with_bias) {
  const bool is_plain_too = is_plain_fp32(in.of_result) && in.of_result.is_contiguous();
  if (is_plain(in.x, in.weight, in.residual) && is_plain(in.x, in.weight, in.bias) &&
      is_plain_too) {
    return gradients_by_kernel(in, with_bias);
  }
  return gradients_by_operators(in, with_bias);
}

void put(const at::Tensor& values, const VectorTarget& target) {
  if (!target.memory.defined()) return;
  target.adds ? target.memory.add_(values) : target.memory.copy_(values);
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
  if (is_plain(x, weight, bias)) {
    statistics.inverse = at::empty({x.size(0)}, x.options());
    statistics.mean =
        options.kind == NormKind::layer ? at::empty({x.size(0)}, x.options()) : at::Tensor();
    return by_kernel(x, weight, bias, statistics, options.epsilon);
  }
  statistics = statistics_of(x, options);
  return norm_by_operators(x, weight, bias, statistics);
}

at::Tensor norm_rows_back(const NormBackward& in,
                          const VectorTarget& of_weight,
                          const VectorTarget& of_bias) {
  if (in.x.is_cuda()) {
    at::Tensor of_x = norm_rows_back_on_cuda(in, of_weight, of_bias);
    if (of_x.defined()) return of_x;
  }
  const NormGradients gradients = gradients_beside_cuda(in, of_bias.memory.defined());
  put(gradients.weight, of_weight);
  put(gradients.bias, of_bias);
  return gradients.x;
}

NormGradients norm_rows_gradients(const NormBackward& in, bool with_bias) {
  const auto type = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto room = [&] { return at::empty({in.x.size(1)}, in.x.options().dtype(type)); };
  NormGradients result{.x = {}, .weight = room(), .bias = with_bias ? room() : at::Tensor()};
  result.x = norm_rows_back(in, {result.weight}, {result.bias});
  return result;
}

}  // namespace sheaf::nn
