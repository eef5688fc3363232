#include "sheaf/models/generate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/evaluation_mode.h"
#include "sheaf/base/error.h"
#include "sheaf/module/forward.h"

namespace sheaf::models {
namespace {

void check(const Model& model,
           const std::vector<std::int64_t>& prompt,
           const GenerateOptions& options) {
  const Shape& shape = model.shape();
  if (!shape.is_language_model()) throw UsageError("only a language model can continue a text");
  if (prompt.empty()) throw UsageError("a prompt must have at least 1 token, got 0");
  for (const std::int64_t token : prompt) {
    if (token >= 0 && token < shape.vocabulary) continue;
    throw UsageError(fmt::format(
        "tokens of the prompt must be between 0 and {}, got {}", shape.vocabulary - 1, token));
  }
  if (options.max_new_tokens < 0) {
    throw UsageError(
        fmt::format("max_new_tokens must be at least 0, got {}", options.max_new_tokens));
  }
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    throw UsageError(
        fmt::format("temperature must be at least 0 and finite, got {}", options.temperature));
  }
  if (options.vocabulary < 0 || options.vocabulary > shape.vocabulary) {
    throw UsageError(fmt::format("vocabulary must be between 0 and the model's {}, got {}",
                                 shape.vocabulary,
                                 options.vocabulary));
  }
  if (options.top_k < 0) {
    throw UsageError(fmt::format("top_k must be at least 0, got {}", options.top_k));
  }
}

/// Returns a number in [0, 1) that depends on its arguments alone (splitmix64).
double uniform(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t bits = seed * 0xD1342543DE82EF95ULL + (index + 1) * 0x9E3779B97F4A7C15ULL;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Returns all tokens, the likeliest `count` of them first; of equals the lower comes first.
std::vector<std::int64_t> likeliest(const std::vector<double>& logits, std::size_t count) {
  std::vector<std::int64_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), std::int64_t{0});
  const auto logit = [&](std::int64_t token) { return logits[static_cast<std::size_t>(token)]; };
  const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(tokens.begin(), end, tokens.end(), [&](std::int64_t a, std::int64_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  tokens.erase(end, tokens.end());
  return tokens;
}

std::int64_t choose(const std::vector<double>& logits,
                    const GenerateOptions& options,
                    std::uint64_t index) {
  if (options.temperature == 0) return likeliest(logits, 1).front();
  const std::size_t all = logits.size();
  const auto top_k = static_cast<std::size_t>(options.top_k);
  const auto tokens = likeliest(logits, top_k == 0 ? all : std::min(top_k, all));
  const double highest = logits[static_cast<std::size_t>(tokens.front())];
  std::vector<double> reached;
  reached.reserve(tokens.size());
  double sum = 0;
  for (const std::int64_t token : tokens) {
    const double below = logits[static_cast<std::size_t>(token)] - highest;
    sum += std::exp(below / options.temperature);
    reached.push_back(sum);
  }
  const double drawn = uniform(options.seed, index) * sum;
  const auto found = std::upper_bound(reached.begin(), reached.end(), drawn);
  // Rounding may put the draw at the very end of the sum.
  const auto last = std::prev(reached.end());
  return tokens[static_cast<std::size_t>(std::min(found, last) - reached.begin())];
}

std::vector<double> next_logits(Model& model,
                                const std::vector<std::int64_t>& text,
                                const GenerateOptions& options) {
  const auto length = std::min(text.size(), static_cast<std::size_t>(model.shape().context));
  const at::Tensor window =
      at::tensor(at::ArrayRef<std::int64_t>(text).slice(text.size() - length), at::kLong);
  const at::Device device = model.parameters().front().device();
  const at::Tensor logits =
      sheaf::forward(model, window.unsqueeze(0).to(device), at::Tensor(), Pass{});
  const at::Tensor plain = logits[0].to(at::kCPU, at::kDouble).contiguous();
  const double* const begin = plain.const_data_ptr<double>();
  const std::int64_t known = options.vocabulary > 0 ? options.vocabulary : plain.numel();
  std::vector<double> values(begin, begin + known);
  // A logit may be minus infinity, which is never chosen, but not all of them.
  const bool numbers =
      std::none_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  if (!numbers || !std::isfinite(*std::max_element(values.begin(), values.end()))) {
    throw Error("the model's logits are not numbers: its training has diverged");
  }
  return values;
}

}  // namespace

std::vector<std::int64_t> generate(Model& model,
                                   const std::vector<std::int64_t>& prompt,
                                   const GenerateOptions& options) {
  check(model, prompt, options);
  const at::NoGradGuard no_grad;
  const EvaluationMode mode(model);
  std::vector<std::int64_t> text = prompt;
  for (std::int64_t i = 0; i < options.max_new_tokens; ++i) {
    const std::int64_t token = choose(next_logits(model, text, options), options, text.size());
    if (std::find(options.stop.begin(), options.stop.end(), token) != options.stop.end()) break;
    text.push_back(token);
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

}  // namespace sheaf::models
