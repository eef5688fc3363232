#include "norm_rows_cuda.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "awake.h"
#include "norm_rows_kernel.h"
#include "sums_on_the_way.h"

namespace sheaf::nn {
namespace {

bool has_kernel(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& other) {
  return element_type(x.scalar_type()) && x.numel() > 0 &&
         weight.scalar_type() == x.scalar_type() &&
         (!other.defined() || other.scalar_type() == x.scalar_type());
}

at::Tensor dense(const at::Tensor& x) { return x.defined() ? x.contiguous() : x; }

float* memory_of(const at::Tensor& statistics) {
  return statistics.defined() ? statistics.mutable_data_ptr<float>() : nullptr;
}

/// Returns the target with someone to be left to.
VectorTarget later(VectorTarget target, PendingSums& pending) {
  if (target.later == nullptr) target.later = &pending;
  return target;
}

}  // namespace

at::Tensor norm_rows_on_cuda(const at::Tensor& x,
                             const at::Tensor& weight,
                             const at::Tensor& bias,
                             const NormOptions& options,
                             NormStatistics& statistics) {
  if (!has_kernel(x, weight, bias)) return {};
  const Launch launch(x);
  const at::Tensor rows = dense(x);
  const auto [factors, added] = awake(weight, bias);
  const auto wide = rows.options().dtype(at::kFloat);
  const bool has_mean = options.kind == NormKind::layer;
  statistics = {has_mean ? at::empty({rows.size(0)}, wide) : at::Tensor(),
                at::empty({rows.size(0)}, wide)};
  at::Tensor result = at::empty_like(rows);
  const std::int64_t width = rows.size(1);
  launch_norm(
      {.type = element_type(rows.scalar_type()).value(),
       .num_rows = rows.size(0),
       .width = width,
       .in_chunks = fit_chunks(
           width, width, data_of(rows), data_of(factors), data_of(added), data_of(result)),
       .x = data_of(rows),
       .weight = data_of(factors),
       .bias = data_of(added),
       .epsilon = static_cast<float>(options.epsilon),
       .mean = memory_of(statistics.mean),
       .inverse = memory_of(statistics.inverse),
       .result = result.mutable_data_ptr()},
      launch.stream());
  return result;
}

at::Tensor norm_rows_back_on_cuda(const NormBackward& in,
                                  const VectorTarget& of_weight,
                                  const VectorTarget& of_bias) {
  if (!has_kernel(in.x, in.weight, in.residual) || !has_kernel(in.x, in.weight, in.bias) ||
      in.of_result.scalar_type() != in.x.scalar_type() || !can_take_sums(of_weight) ||
      (of_bias.memory.defined() && !can_take_sums(of_bias))) {
    return {};
  }
  const Launch launch(in.x);
  const at::Tensor from = dense(in.of_result), rows = dense(in.x), added = dense(in.residual);
  const auto [factors, bias] = awake(in.weight, in.bias);
  at::Tensor of_x = at::empty_like(rows);
  const std::int64_t width = rows.size(1);
  NormGradientRows all{.type = element_type(rows.scalar_type()).value(),
                       .num_rows = rows.size(0),
                       .width = width,
                       .in_chunks = fit_chunks(width,
                                               width,
                                               data_of(from),
                                               data_of(rows),
                                               data_of(factors),
                                               data_of(added),
                                               data_of(of_x),
                                               data_of(in.again),
                                               data_of(bias)),
                       .of_result = data_of(from),
                       .x = data_of(rows),
                       .weight = data_of(factors),
                       .mean = memory_of(in.statistics.mean),
                       .inverse = memory_of(in.statistics.inverse),
                       .residual = data_of(added),
                       .of_x = of_x.mutable_data_ptr(),
                       .again = in.again.defined() ? in.again.mutable_data_ptr() : nullptr,
                       .bias = data_of(bias),
                       .with_bias = of_bias.memory.defined()};
  all.num_parts = num_norm_parts(all, launch.num_multiprocessors());
  const at::Tensor parts =
      at::empty({all.num_parts, all.part_size()}, rows.options().dtype(at::kFloat));
  all.parts = parts.mutable_data_ptr<float>();
  launch_norm_gradients(all, launch.stream());
  PartsSum sum{
      .parts = all.parts, .num_parts = all.num_parts, .stride = all.part_size(), .width = width};
  PendingSums both;
  put_totals(sum, parts, later(of_weight, both), launch);
  sum.parts += width;
  if (all.with_bias) put_totals(sum, parts, later(of_bias, both), launch);
  both.finish();
  return of_x;
}

}  // namespace sheaf::nn
