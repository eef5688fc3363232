#pragma once

#include <cstdint>

#include "cli/option_set.h"
#include "sheaf/hub/generation_config.h"
#include "sheaf/models/generate.h"

namespace sheaf::cli {

/// The arguments that say how the next token is chosen; -1 leaves it to the model's
/// generation_config.json.
struct SamplingArguments {
  bool greedy = false;
  double temperature = -1;
  std::int64_t top_k = -1;
  double top_p = -1;
  double repetition_penalty = -1;
  std::int64_t seed = 0;

  void declare(OptionSet& options);
  /// Returns options with these choices. Throws UsageError for values that cannot be, and where
  /// they contradict each other.
  [[nodiscard]] models::GenerateOptions resolve(const hub::GenerationConfig& config) const;
};

}  // namespace sheaf::cli
