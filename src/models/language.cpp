#include "models/language.h"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sheaf/base/error.h"
#include "sheaf/nn/linear.h"
#include "sheaf/nn/linear_cross_entropy.h"

namespace sheaf::models {
namespace {

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return fmt::format(
      "{} [{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

void check_tokens(const at::Tensor& inputs, std::int64_t vocabulary) {
  if (!inputs.is_cpu() || inputs.numel() == 0) return;
  const auto [low, high] = at::aminmax(inputs);
  const auto lowest = low.item<std::int64_t>();
  const auto highest = high.item<std::int64_t>();
  if (lowest >= 0 && highest < vocabulary) return;
  throw UsageError(
      fmt::format("tokens of a model with vocabulary {} must be between 0 and {}, got {}",
                  vocabulary,
                  vocabulary - 1,
                  lowest < 0 ? lowest : highest));
}

}  // namespace

void check_texts(const at::Tensor& inputs, const at::Tensor& targets, const Shape& shape) {
  if (!inputs.defined() || inputs.dim() != 2 || inputs.scalar_type() != at::kLong ||
      inputs.size(1) == 0) {
    throw UsageError(
        fmt::format("inputs of a language model must be int64 tokens [texts, length], got {}",
                    describe(inputs)));
  }
  if (inputs.size(1) > shape.context) {
    throw UsageError(
        fmt::format("a text may have at most the model's context of {} tokens, got {}: cut it, or "
                    "build the model with a larger context",
                    shape.context,
                    inputs.size(1)));
  }
  if (targets.defined() &&
      (targets.sizes() != inputs.sizes() || targets.scalar_type() != at::kLong)) {
    throw UsageError(fmt::format("targets must be int64 in the shape of the inputs {}, got {}",
                                 describe(inputs),
                                 describe(targets)));
  }
  check_tokens(inputs, shape.vocabulary);
}

at::Tensor part_for_head(const at::Tensor& x, const at::Tensor& targets, Logits logits) {
  if (targets.defined() || logits == Logits::all) return x;
  return x.select(1, x.size(1) - 1);
}

at::Tensor loss_or_logits(const at::Tensor& x,
                          const at::Tensor& weight,
                          const at::Tensor& targets) {
  if (!targets.defined()) return nn::linear(x, weight, /*bias=*/{});
  return nn::linear_cross_entropy(x.flatten(0, 1), weight, targets.flatten());
}

std::vector<std::string> block_names(std::string_view prefix, std::size_t count) {
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, i));
  return names;
}

}  // namespace sheaf::models
