#pragma once

#include <cstdint>
#include <span>

#include "sheaf/models/generate.h"

namespace sheaf::models {

/// Throws UsageError for options that no text can be drawn with.
void check_sampling(const GenerateOptions& options);

/// Makes the logits of tokens that `text` already has smaller: above 0 they are divided by
/// `penalty`, below multiplied.
void penalize(std::span<double> logits, std::span<const std::int64_t> text, double penalty);

/// Divides by the temperature, then leaves only the top_k, then only top_p: all others become minus
/// infinity. The temperature must not be 0.
void narrow_down(std::span<double> logits, const GenerateOptions& options);

/// Returns the likeliest token, the lowest of equals.
[[nodiscard]] std::int64_t likeliest(std::span<const double> logits);

/// Returns the token that `place`, from 0 to below 1, falls on when all share that range by their
/// probability.
[[nodiscard]] std::int64_t token_at(std::span<const double> logits, double place);

/// Returns a number from 0 to below 1 that depends on its arguments alone.
[[nodiscard]] double uniform(std::uint64_t seed, std::uint64_t index);

}  // namespace sheaf::models
