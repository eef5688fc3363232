#pragma once

#include <cstdint>
#include <vector>

#include "sheaf/models/model.h"

namespace sheaf::models {

struct GenerateOptions {
  std::int64_t max_new_tokens = 64;
  /// Below 1 likely tokens become likelier; 0 always takes the likeliest.
  double temperature = 1;
  /// Only this many of the likeliest tokens are drawn from; 0: all.
  std::int64_t top_k = 0;
  /// Only tokens below this are drawn, for a tokenizer that knows fewer than the model; 0: all.
  std::int64_t vocabulary = 0;
  /// What is drawn depends on it, and on how many tokens there are already.
  std::uint64_t seed = 0;
  /// Tokens that end the text.
  std::vector<std::int64_t> stop = {};
};

/// Continues a text, token by token, and returns the new tokens; one that ends the text is not
/// among them. The model sees the last tokens that fit its context, without dropout and gradients,
/// and is afterwards in training or not as it was before.
///
/// The same arguments give the same tokens. A model that is cut over ranks is run by all of them
/// together, so each must call this with the same arguments. Throws UsageError for an empty prompt,
/// for tokens and options that cannot be, and for a model that reads no texts.
[[nodiscard]] std::vector<std::int64_t> generate(Model& model,
                                                 const std::vector<std::int64_t>& prompt,
                                                 const GenerateOptions& options = {});

}  // namespace sheaf::models
