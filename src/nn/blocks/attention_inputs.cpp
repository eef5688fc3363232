#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "nn/held.h"
#include "nn/kernels/fused_product.h"
#include "nn/kernels/join_columns.h"
#include "nn/kernels/pending_sums.h"
#include "nn/kernels/rotary_rows.h"
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

/// What a call is, besides its tensors. Parameters are the norm's one or two, the weights, and the
/// bias where there is one weight that has one.
struct Setting {
  AttentionInputOptions options;
  double epsilon = 0;
  bool norm_bias = false;
  std::size_t num_weights = 1;
  bool bias = false;

  [[nodiscard]] NormKind kind() const {
    return norm_bias ? NormKind::layer : NormKind::root_mean_square;
  }
  [[nodiscard]] std::size_t first_weight() const { return norm_bias ? 2 : 1; }
  [[nodiscard]] std::size_t num_parameters() const {
    return first_weight() + num_weights + (bias ? 1 : 0);
  }
  [[nodiscard]] std::vector<std::int64_t> sizes() const {
    return {options.q_size, options.kv_size, options.kv_size};
  }
  [[nodiscard]] std::int64_t size() const { return options.q_size + 2 * options.kv_size; }
};

/// A call's parameters by what they are.
struct Parameters {
  Parameters(at::TensorList all, const Setting& setting)
      : norm_weight(all[0]),
        norm_bias(setting.norm_bias ? all[1] : at::Tensor()),
        weights(all.slice(setting.first_weight(), setting.num_weights)),
        bias(setting.bias ? all.back() : at::Tensor()) {}

  at::Tensor norm_weight;
  at::Tensor norm_bias;
  at::TensorList weights;
  at::Tensor bias;
};

/// Returns the one weight that does all projections, [in, out], or nothing.
at::Tensor whole_weight(at::TensorList weights, WeightLayout layout) {
  if (weights.size() == 1) return in_to_out(weights[0], layout);
  const at::Tensor joined = layout == WeightLayout::out_in ? joined_rows(weights) : at::Tensor();
  return joined.defined() ? joined.t() : joined;
}

at::Tensor project(const at::Tensor& x, const Parameters& all, const Setting& setting) {
  const at::Tensor whole = whole_weight(all.weights, setting.options.layout);
  if (whole.defined()) return fused_product({.a = x, .b = whole, .bias = all.bias});
  at::Tensor result = at::empty({x.size(0), setting.size()}, x.options());
  std::int64_t begin = 0;
  for (const at::Tensor& weight : all.weights) {
    const at::Tensor each = in_to_out(weight, setting.options.layout);
    fused_product({.a = x, .b = each, .result = result.narrow(1, begin, each.size(1))});
    begin += each.size(1);
  }
  return result;
}

at::Tensor project_back(const at::Tensor& gradient, at::TensorList weights, WeightLayout layout) {
  const at::Tensor whole = whole_weight(weights, layout);
  if (whole.defined()) return fused_product({.a = gradient, .b = whole.t()});
  at::Tensor result;
  std::int64_t begin = 0;
  for (const at::Tensor& weight : weights) {
    const at::Tensor each = in_to_out(weight, layout);
    const at::Tensor part = gradient.narrow(1, begin, each.size(1));
    result = fused_product({.a = part, .b = each.t(), .result = result, .adds = result.defined()});
    begin += each.size(1);
  }
  return result;
}

/// Rotates q and k of rows [batch, length, all], in place.
void rotate_heads(const at::Tensor& rows, const AttentionInputOptions& options, int sign) {
  if (!options.rotary) return;
  const std::int64_t rotated = options.q_size + options.kv_size;
  at::Tensor heads =
      rows.narrow(2, 0, rotated).unflatten(2, {rotated / options.head_size, options.head_size});
  rotate_rows_(heads, options.rotary->cosines, options.rotary->sines, sign);
}

/// Returns the tensor of which `parts` are the columns, one after the other; undefined if there is
/// none.
at::Tensor whole_of(const variable_list& parts, std::int64_t size) {
  const at::Tensor& first = parts.front();
  std::int64_t begin = first.storage_offset();
  for (const at::Tensor& part : parts) {
    if (!part.is_alias_of(first) || part.strides() != first.strides() ||
        part.storage_offset() != begin) {
      return {};
    }
    begin += part.size(2);
  }
  const bool is_dense =
      first.stride(2) == 1 && first.stride(1) == size && first.stride(0) == first.size(1) * size;
  return is_dense ? first.as_strided({first.size(0), first.size(1), size}, first.strides())
                  : at::Tensor();
}

/// Returns gradients of q, k and v; those that nobody gave are zeros.
std::vector<at::Tensor> parts_of(const variable_list& gradients,
                                 const Setting& setting,
                                 const at::Tensor& x) {
  std::vector<at::Tensor> parts;
  const std::vector<std::int64_t> sizes = setting.sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parts.push_back(gradients[i].defined()
                        ? gradients[i]
                        : at::zeros({x.size(0), x.size(1), sizes[i]}, x.options()));
  }
  return parts;
}

/// Returns the parts side by side, as rows. A copy where they are rotated: those that came are not
/// ours.
at::Tensor side_by_side(const std::vector<at::Tensor>& parts, const Setting& setting) {
  at::Tensor result = setting.options.rotary ? at::Tensor() : whole_of(parts, setting.size());
  if (!result.defined()) result = at::cat(parts, 2);
  rotate_heads(result, setting.options, /*sign=*/-1);
  return as_rows(result);
}

/// The same, and takes the gradient of the bias of argument number `bias` on the way.
at::Tensor side_by_side_with_bias(const std::vector<at::Tensor>& parts,
                                  const Setting& setting,
                                  std::size_t bias,
                                  variable_list& results,
                                  PendingSums& later) {
  if (setting.options.rotary || whole_of(parts, setting.size()).defined()) {
    at::Tensor result = side_by_side(parts, setting);
    results[bias] = sum_gradient(bias, result, &later);
    return result;
  }
  std::vector<at::Tensor> rows;
  for (const at::Tensor& part : parts) rows.push_back(as_rows(part));
  const SumTarget sums(bias, rows.front(), setting.size());
  at::Tensor result = join_columns(rows, sums.place(&later));
  results[bias] = sums.gradient();
  return result;
}

struct AttentionInputsFunction : torch::autograd::Function<AttentionInputsFunction> {
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& x,
                               at::TensorList parameters,
                               const Setting& setting) {
    const Parameters all(parameters, setting);
    NormStatistics statistics;
    const at::Tensor normal = norm_rows(
        as_rows(x), all.norm_weight, all.norm_bias, {setting.kind(), setting.epsilon}, statistics);
    const at::Tensor result = project(normal, all, setting).view(shape_with(x, setting.size()));
    rotate_heads(result, setting.options, /*sign=*/1);
    variable_list kept{x, statistics.mean, statistics.inverse};
    kept.insert(kept.end(), parameters.begin(), parameters.end());
    context->save_for_backward(kept);
    hold(context, setting);
    variable_list outputs;
    std::int64_t begin = 0;
    for (const std::int64_t size : setting.sizes()) {
      outputs.push_back(result.narrow(2, begin, size));
      begin += size;
    }
    outputs.push_back(x);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("attention_inputs");
    const variable_list saved = context->get_saved_variables();
    const auto setting = held<Setting>(context);
    const Parameters all(at::TensorList(saved).slice(3), setting);
    const at::Tensor x = as_rows(saved[0]);
    const NormStatistics statistics{saved[1], saved[2]};
    const WeightLayout layout = setting.options.layout;
    variable_list result(2 + setting.num_parameters());
    const std::size_t first = 1 + setting.first_weight();
    const std::vector<at::Tensor> parts = parts_of(gradients, setting, saved[0]);
    PendingSums sums;
    const at::Tensor of_result =
        setting.bias ? side_by_side_with_bias(parts, setting, first + 1, result, sums)
                     : side_by_side(parts, setting);
    const NormBackward of_norm{
        .of_result = project_back(of_result, all.weights, layout),
        .x = x,
        .weight = all.norm_weight,
        .statistics = statistics,
        .residual = gradients[3].defined() ? as_rows(gradients[3]) : at::Tensor(),
        .again = at::empty_like(x),
        .bias = all.norm_bias};
    const auto norm_bias = setting.norm_bias ? std::optional<std::size_t>(2) : std::nullopt;
    result[0] = norm_gradients(of_norm, 1, norm_bias, result, sums).view(saved[0].sizes());
    sums.finish();
    if (setting.num_weights == 1) {
      result[first] = weight_gradient(first, of_norm.again, of_result, layout);
    } else {
      const auto each = weight_gradients(first, of_norm.again, of_result, setting.sizes());
      std::copy(each.begin(), each.end(), result.begin() + static_cast<std::ptrdiff_t>(first));
    }
    return result;
  }
};

}  // namespace

AttentionInputs attention_inputs(const at::Tensor& x,
                                 const NormParameters& norm,
                                 const std::vector<Projected>& projections,
                                 const AttentionInputOptions& options) {
  check_norm("attention_inputs", x, norm);
  std::vector<at::Tensor> parameters{norm.weight};
  if (norm.bias.defined()) parameters.push_back(norm.bias);
  for (const Projected& projection : projections) parameters.push_back(projection.weight);
  const bool bias = projections.size() == 1 && projections[0].bias.defined();
  if (bias) parameters.push_back(projections[0].bias);
  const variable_list outputs =
      AttentionInputsFunction::apply(x,
                                     at::TensorList(parameters),
                                     Setting{.options = options,
                                             .epsilon = norm.epsilon,
                                             .norm_bias = norm.bias.defined(),
                                             .num_weights = projections.size(),
                                             .bias = bias});
  return {outputs[0], outputs[1], outputs[2], outputs[3]};
}

}  // namespace sheaf::nn
