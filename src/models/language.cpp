#include "models/language.h"

#include <ATen/ops/aminmax.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

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

/// Returns a number that is not between 0 and `count` - 1. Only on the CPU: elsewhere that would
/// mean to wait.
std::optional<std::int64_t> outside(const at::Tensor& numbers, std::int64_t count) {
  if (!numbers.is_cpu() || numbers.numel() == 0) return std::nullopt;
  const auto [low, high] = at::aminmax(numbers);
  const auto lowest = low.item<std::int64_t>();
  const auto highest = high.item<std::int64_t>();
  if (lowest >= 0 && highest < count) return std::nullopt;
  return lowest < 0 ? lowest : highest;
}

void check_tokens(const at::Tensor& inputs, std::int64_t vocabulary) {
  const auto wrong = outside(inputs, vocabulary);
  if (!wrong) return;
  throw UsageError(
      fmt::format("tokens of a model with vocabulary {} must be between 0 and {}, got {}",
                  vocabulary,
                  vocabulary - 1,
                  *wrong));
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

void check_positions(const at::Tensor& inputs, const at::Tensor& positions) {
  if (!positions.defined()) return;
  if (positions.sizes() != inputs.sizes() || positions.scalar_type() != at::kLong) {
    throw UsageError(fmt::format("positions must be int64 in the shape of the inputs {}, got {}",
                                 describe(inputs),
                                 describe(positions)));
  }
  if (const auto wrong = outside(positions, inputs.size(1))) {
    throw UsageError(fmt::format("positions in texts of {} tokens must be between 0 and {}, got {}",
                                 inputs.size(1),
                                 inputs.size(1) - 1,
                                 *wrong));
  }
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
