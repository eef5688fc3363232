#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sheaf::testing {

/// Returns the parts of a tokenizer.json, to be put together by tests.
[[nodiscard]] nlohmann::json byte_level(bool add_prefix_space, bool use_regex);
[[nodiscard]] nlohmann::json split(const nlohmann::json& pattern,
                                   const std::string& behavior,
                                   bool invert = false);
[[nodiscard]] nlohmann::json sequence(const std::string& list,
                                      const std::vector<nlohmann::json>& parts);

/// Returns a tokenizer.json of GPT-2's vocabulary and merges, read from its two files, with
/// <|endoftext|> as a special token.
[[nodiscard]] nlohmann::json gpt2_json(const std::string& folder);
/// The same, split as Llama 3 does: words that are tokens are not merged, and a text begins with
/// <|begin|> for the model.
[[nodiscard]] nlohmann::json llama3_like_json(const std::string& folder);
/// A vocabulary of characters as Llama 2 has it: spaces are U+2581, other bytes <0x00> and so on.
[[nodiscard]] nlohmann::json byte_fallback_json();

/// Adds a token that is not in the vocabulary, with the flags that `flags` names: "single_word",
/// "lstrip", "rstrip", "normalized", "special".
void add_token(nlohmann::json& file,
               const std::string& content,
               const std::vector<std::string>& flags);

}  // namespace sheaf::testing
