#include "plan/layers.h"

#include <utility>

namespace sheaf::plan {
namespace {

/// Drops in fp32: what is narrower is widened and narrowed again.
template <class Take>
Held dropped(const Pass& pass, std::int64_t numbers, const Take& take) {
  if (!pass.is_narrow()) return take(4 * numbers);
  const Held wide = take(4 * numbers);
  const Held result = take(4 * numbers);
  return take(pass.element() * numbers);
}

std::int64_t numbers_of(const Pass& pass, std::int64_t columns) { return pass.rows() * columns; }

std::int64_t score_numbers(const Pass& pass) {
  return pass.rows() * pass.sequence() * pass.model.heads;
}

Held explicit_attention(const Pass& pass, AttentionSaved& saved, HeadLayout layout) {
  const std::int64_t scores = score_numbers(pass) * pass.element();
  const bool is_shared = pass.model.kv_heads != pass.model.heads;
  // Products of many matrices want their heads one after the other.
  const bool copies = layout == HeadLayout::rows && pass.setting.micro_batch > 1;
  Held scaled = pass.made(pass.queries());
  saved.q = copies ? pass.made(pass.queries()) : scaled;
  scaled.reset();
  if (is_shared || copies) saved.k = pass.made(pass.queries());
  if (is_shared || pass.setting.micro_batch > 1) saved.v = pass.made(pass.queries());
  Held products = pass.made(scores);
  saved.mask = pass.made(pass.sequence() * pass.sequence());
  const Held masked = pass.made(scores);
  products.reset();
  saved.weights = pass.made(scores);
  saved.dropped =
      dropped(pass, score_numbers(pass), [&](std::int64_t bytes) { return pass.made(bytes); });
  const Held mixed = pass.made(pass.queries());
  saved.output = pass.made(pass.queries());
  return saved.output;
}

AttentionGradients explicit_backward(const Pass& pass, Held gradient, AttentionSaved saved) {
  const std::int64_t scores = score_numbers(pass) * pass.element();
  Held by_heads = pass.temporary(pass.queries());
  gradient.reset();
  Held of_weights = pass.temporary(scores);
  AttentionGradients out{.v = pass.temporary(pass.queries())};
  by_heads.reset();
  saved.dropped.reset();
  saved.v.reset();
  of_weights =
      dropped(pass, score_numbers(pass), [&](std::int64_t bytes) { return pass.temporary(bytes); });
  Held of_scores = pass.temporary(scores);
  of_weights.reset();
  saved.weights.reset();
  of_scores = pass.temporary(scores);
  out.q = pass.temporary(pass.queries());
  out.k = pass.temporary(pass.queries());
  return out;
}

}  // namespace

void weight_gradient(const Pass& pass, const Weight& weight) {
  Held apart;
  if (!pass.engine.takes_gradients_directly(pass.exchanged)) {
    apart = pass.temporary(weight.in * weight.out * pass.element());
  }
  pass.gradient(weight.place);
  if (weight.bias) pass.gradient(weight.place + 1);
}

Held linear_backward(const Pass& pass, Held /*gradient*/, const Weight& weight) {
  Held result = pass.temporary(pass.matrix(weight.in));
  weight_gradient(pass, weight);
  return result;
}

bool makes_norms_again(const Pass& pass) {
  return pass.setting.fused && (pass.setting.device == Device::gpu || pass.has_cpu_kernels());
}

Held fused_norm_forward(const Pass& pass, Held& statistics, std::int64_t numbers_per_row) {
  Held result = pass.made(pass.width());
  statistics = pass.made(pass.wide_matrix(numbers_per_row));
  return result;
}

Held fused_norm_backward(const Pass& pass, const Norm& norm, const std::vector<Weight>& weights) {
  const Held of_normal = pass.temporary(pass.width());
  const Held again = pass.temporary(pass.width());
  Held result = pass.temporary(pass.width());
  pass.gradient(norm.place);
  if (norm.bias) pass.gradient(norm.place + 1);
  for (const Weight& weight : weights) weight_gradient(pass, weight);
  return result;
}

Held dropout_forward(const Pass& pass, Held x, std::int64_t columns) {
  if (pass.model.dropout == 0) return x;
  return dropped(pass, numbers_of(pass, columns), [&](std::int64_t b) { return pass.made(b); });
}

Held dropout_backward(const Pass& pass, Held gradient, std::int64_t columns) {
  if (pass.model.dropout == 0) return gradient;
  return dropped(
      pass, numbers_of(pass, columns), [&](std::int64_t b) { return pass.temporary(b); });
}

Held layer_norm_forward(const Pass& pass, Held& statistics) {
  Held result = pass.made(pass.width());
  statistics = pass.made(2 * pass.wide_matrix(1));
  return result;
}

Held layer_norm_backward(const Pass& pass, Held /*gradient*/, std::size_t place) {
  Held result = pass.temporary(pass.width());
  pass.gradient(place);
  pass.gradient(place + 1);
  return result;
}

Held rms_norm_forward(const Pass& pass, Held& statistics) {
  const std::int64_t wide = pass.wide_matrix(pass.model.width);
  Held widened = pass.is_narrow() ? pass.made(wide) : nullptr;
  pass.made(wide).reset();  // the squares
  statistics = pass.made(pass.wide_matrix(1));
  Held result = pass.made(wide);
  return pass.is_narrow() ? pass.made(pass.width()) : result;
}

Held rms_norm_backward(const Pass& pass, Held /*gradient*/, std::size_t place) {
  const std::int64_t wide = pass.wide_matrix(pass.model.width);
  const Held widened = pass.is_narrow() ? pass.temporary(2 * wide) : nullptr;
  const Held normal = pass.temporary(wide);
  pass.temporary(wide).reset();  // each row's part of the weight's gradient
  const Held weighted = pass.temporary(wide);
  const Held along = pass.temporary(wide);
  const Held difference = pass.temporary(wide);
  Held result = pass.temporary(wide);
  if (pass.is_narrow()) result = pass.temporary(pass.width());
  pass.gradient(place);
  return result;
}

Held attention_forward(const Pass& pass, AttentionSaved& saved, HeadLayout layout) {
  if (pass.model.attention_dropout > 0) return explicit_attention(pass, saved, layout);
  saved.output = pass.made(pass.queries());
  saved.sums = pass.made(pass.wide_matrix(pass.model.heads));
  return saved.output;
}

AttentionGradients attention_backward(const Pass& pass, Held gradient, AttentionSaved saved) {
  if (pass.model.attention_dropout > 0) {
    return explicit_backward(pass, std::move(gradient), std::move(saved));
  }
  AttentionGradients out{.q = pass.temporary(pass.queries()),
                         .k = pass.temporary(pass.keys()),
                         .v = pass.temporary(pass.keys())};
  // GPUs add up the gradient of the queries in fp32.
  const bool sums_apart = pass.setting.device == Device::gpu && pass.is_narrow();
  if (sums_apart) {
    pass.temporary(pass.wide_matrix(pass.model.heads * pass.model.head_size)).reset();
  }
  return out;
}

}  // namespace sheaf::plan
