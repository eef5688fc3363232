#include "models/language.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <optional>

#include "sheaf/base/error.h"
#include "sheaf/models/key_value_cache.h"
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

void check_pass(const at::Tensor& inputs, const at::Tensor& targets, const Pass& pass) {
  for (const std::int64_t count : pass.counts) {
    if (count >= 1 && count <= inputs.size(1)) continue;
    throw UsageError(fmt::format(
        "of a text's {} tokens between 1 and all must count, got {}", inputs.size(1), count));
  }
  if (!pass.counts.empty() && std::ssize(pass.counts) != inputs.size(0)) {
    throw UsageError(fmt::format("a pass of {} texts needs a count for each of them, got {}",
                                 inputs.size(0),
                                 pass.counts.size()));
  }
  if (pass.cache == nullptr) return;
  if (targets.defined() || at::GradMode::is_enabled()) {
    throw UsageError(
        "a model that keeps tokens cannot be trained in the same pass: leave out "
        "targets, and use at::NoGradGuard");
  }
  if (pass.positions.defined()) {
    throw UsageError("a model that keeps tokens knows their positions: leave out Pass::positions");
  }
  pass.cache->check_room(inputs.size(0), inputs.size(1));
}

at::Tensor part_for_head(const at::Tensor& x, const at::Tensor& targets, const Pass& pass) {
  if (targets.defined() || pass.logits == Logits::all) return x;
  if (pass.counts.empty()) return x.select(1, x.size(1) - 1);
  const at::Tensor last = at::tensor(pass.counts, at::kLong).sub_(1).to(x.device());
  return x.gather(1, last.view({-1, 1, 1}).expand({-1, 1, x.size(2)})).squeeze(1);
}

void end_pass(const at::Tensor& inputs, const Pass& pass) {
  if (pass.cache == nullptr) return;
  const std::vector<std::int64_t> all(static_cast<std::size_t>(inputs.size(0)), inputs.size(1));
  pass.cache->advance(pass.counts.empty() ? all : pass.counts);
}

at::Tensor loss_or_logits(const at::Tensor& x,
                          const at::Tensor& weight,
                          const at::Tensor& targets,
                          bool fused) {
  if (!targets.defined()) return nn::linear(x, weight, /*bias=*/{});
  if (!fused) {
    const at::Tensor logits = nn::linear(x, weight, /*bias=*/{}).flatten(0, 1).to(at::kFloat);
    return at::cross_entropy_loss(
        logits, targets.flatten(), /*weight=*/{}, at::Reduction::Sum, nn::kIgnoredTarget);
  }
  return nn::linear_cross_entropy(x.flatten(0, 1), weight, targets.flatten());
}

std::vector<std::string> block_names(std::string_view prefix, std::size_t count) {
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, i));
  return names;
}

}  // namespace sheaf::models
