#include "models/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sheaf/base/error.h"

namespace sheaf::models {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Tokens that are as likely as the last one of the top stay, too, as in transformers.
void keep_top_k(std::span<double> logits, std::int64_t top_k) {
  if (top_k == 0 || top_k >= std::ssize(logits)) return;
  std::vector<double> sorted(logits.begin(), logits.end());
  const auto last = sorted.begin() + (top_k - 1);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  for (double& logit : logits) {
    if (logit < *last) logit = kNever;
  }
}

double sum_of_exponentials(std::span<const double> logits, double highest) {
  double sum = 0;
  for (const double logit : logits) {
    if (logit != kNever) sum += std::exp(logit - highest);
  }
  return sum;
}

/// A token stays while those that are likelier have less than `top_p`, so the likeliest always
/// does.
void keep_top_p(std::span<double> logits, double top_p) {
  if (top_p >= 1) return;
  std::vector<std::size_t> tokens;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    if (logits[token] != kNever) tokens.push_back(token);
  }
  // A heap, because mostly a few of very many tokens are all that is wanted.
  const auto is_less_likely = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] < logits[b] : a > b;
  };
  std::make_heap(tokens.begin(), tokens.end(), is_less_likely);
  const double highest = logits[tokens.front()];
  const double wanted = top_p * sum_of_exponentials(logits, highest);
  auto rest = tokens.end();
  for (double sum = 0; rest != tokens.begin() && (sum < wanted || rest == tokens.end()); --rest) {
    sum += std::exp(logits[tokens.front()] - highest);
    std::pop_heap(tokens.begin(), rest, is_less_likely);
  }
  std::for_each(tokens.begin(), rest, [&](std::size_t token) { logits[token] = kNever; });
}

void refuse(std::string_view name, std::string_view expected, double value) {
  throw UsageError(fmt::format("{} must be {}, got {}", name, expected, value));
}

}  // namespace

void check_sampling(const GenerateOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    refuse("temperature", "at least 0 and finite", options.temperature);
  }
  if (options.top_k < 0) {
    throw UsageError(fmt::format("top_k must be at least 0, got {}", options.top_k));
  }
  if (!(options.top_p >= 0 && options.top_p <= 1)) {
    refuse("top_p", "between 0 and 1", options.top_p);
  }
  if (!(options.repetition_penalty > 0) || std::isinf(options.repetition_penalty)) {
    refuse("repetition_penalty", "above 0 and finite", options.repetition_penalty);
  }
}

void penalize(std::span<double> logits, std::span<const std::int64_t> text, double penalty) {
  if (penalty == 1) return;
  std::vector<std::int64_t> tokens(text.begin(), text.end());
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (const std::int64_t token : tokens) {
    if (token >= std::ssize(logits)) continue;
    double& logit = logits[static_cast<std::size_t>(token)];
    logit = logit < 0 ? logit * penalty : logit / penalty;
  }
}

void narrow_down(std::span<double> logits, const GenerateOptions& options) {
  if (options.temperature != 1) {
    for (double& logit : logits) logit /= options.temperature;
  }
  keep_top_k(logits, options.top_k);
  keep_top_p(logits, options.top_p);
}

std::int64_t likeliest(std::span<const double> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

std::int64_t token_at(std::span<const double> logits, double place) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double left = place * sum_of_exponentials(logits, highest);
  // Rounding may leave a little behind the last token.
  std::int64_t token = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kNever) continue;
    token = static_cast<std::int64_t>(i);
    left -= std::exp(logits[i] - highest);
    if (left < 0) break;
  }
  return token;
}

double uniform(std::uint64_t seed, std::uint64_t index) {
  // splitmix64
  std::uint64_t bits = seed * 0xD1342543DE82EF95ULL + (index + 1) * 0x9E3779B97F4A7C15ULL;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace sheaf::models
