#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/data/tokenizer.h"

namespace sheaf::cli {

struct Prompt {
  std::string text;
  std::vector<std::int64_t> tokens;
};

/// Returns the lines of a file that are not empty. Throws UsageError if there are none, IoError.
[[nodiscard]] std::vector<std::string> read_prompts(const std::string& path);

/// Turns texts into prompts, with the tokens around them that the tokenizer's file wants. A text
/// without tokens begins with `first`; where there is no such token, UsageError is thrown.
[[nodiscard]] std::vector<Prompt> make_prompts(const std::vector<std::string>& texts,
                                               const data::Tokenizer& tokenizer,
                                               std::optional<std::int64_t> first);

/// Throws UsageError if a prompt has a token that a model with this vocabulary does not know.
void check_vocabulary(const std::vector<Prompt>& prompts, std::int64_t vocabulary);

/// Returns how many tokens can follow the longest prompt within the context. Throws UsageError if
/// none can.
[[nodiscard]] std::int64_t room_behind(const std::vector<Prompt>& prompts, std::int64_t context);

}  // namespace sheaf::cli
