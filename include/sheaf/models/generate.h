#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sheaf/models/model.h"

namespace sheaf::models {

struct GenerateOptions {
  std::int64_t max_new_tokens = 64;
  /// Below 1 likely tokens become likelier; 0 always takes the likeliest.
  double temperature = 1;
  /// Only this many of the likeliest tokens are drawn from; 0: all.
  std::int64_t top_k = 0;
  /// Only the likeliest tokens that together have this probability are drawn from; 1: all.
  double top_p = 1;
  /// Above 1, tokens that the text has already become less likely; 1: nothing changes.
  double repetition_penalty = 1;
  /// Only tokens below this are drawn, for a tokenizer that knows fewer than the model; 0: all.
  std::int64_t vocabulary = 0;
  /// What is drawn for the first text depends on it, and on how many tokens there are already; for
  /// text i it is that of seed + i.
  std::uint64_t seed = 0;
  /// Tokens that end the text.
  std::vector<std::int64_t> stop = {};
  /// Called with every new token of text i; false ends that text behind the token.
  std::function<bool(std::size_t text, std::int64_t token)> on_token = {};
};

/// Why a text has no further token: it has as many as wanted, one of `stop` came, or on_token said
/// so.
enum class Ending { length, stop, caller };

struct Continuation {
  std::vector<std::int64_t> tokens;
  Ending ending = Ending::length;
};

/// Continues texts of any lengths together, token by token, each as it would be continued alone. A
/// token that ends a text is not among its new ones. The model reads each token once, and keeps
/// what it needs of it (KeyValueCache). When a text fills the model's context, the older half of
/// what it sees is forgotten. No dropout, no gradients; afterwards the model is in training or not
/// as it was before.
///
/// The same arguments give the same tokens. Logits are changed as transformers does it: first
/// repetition_penalty, then temperature, top_k, top_p. A model that is cut over ranks is run by all
/// of them together, so each must call this with the same arguments. Throws UsageError for an empty
/// prompt, for tokens and options that cannot be, and for a model that reads no texts.
[[nodiscard]] std::vector<Continuation> generate_all(
    Model& model,
    std::span<const std::vector<std::int64_t>> prompts,
    const GenerateOptions& options = {});

/// The same for one text; returns its new tokens.
[[nodiscard]] std::vector<std::int64_t> generate(Model& model,
                                                 const std::vector<std::int64_t>& prompt,
                                                 const GenerateOptions& options = {});

}  // namespace sheaf::models
