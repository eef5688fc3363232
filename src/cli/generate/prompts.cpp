#include "cli/generate/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf::cli {

std::vector<std::string> read_prompts(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw UsageError(fmt::format("--prompts: cannot read {} ({})", path, std::strerror(errno)));
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  if (file.bad()) throw IoError("--prompts: cannot read " + path);
  if (lines.empty()) throw UsageError("--prompts: there is no line with a text in " + path);
  return lines;
}

std::vector<Prompt> make_prompts(const std::vector<std::string>& texts,
                                 const data::Tokenizer& tokenizer,
                                 std::optional<std::int64_t> first) {
  std::vector<Prompt> prompts;
  for (const std::string& text : texts) {
    Prompt prompt{.text = text, .tokens = tokenizer.complete(tokenizer.encode(text))};
    if (prompt.tokens.empty() && first) prompt.tokens = {*first};
    if (prompt.tokens.empty()) {
      throw UsageError(
          "--prompt: an empty text cannot be continued, as the model names no "
          "bos_token_id to begin with, got " +
          in_quotes(text));
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

void check_vocabulary(const std::vector<Prompt>& prompts, std::int64_t vocabulary) {
  for (const Prompt& prompt : prompts) {
    const std::int64_t highest = *std::ranges::max_element(prompt.tokens);
    if (highest < vocabulary) continue;
    throw UsageError(
        fmt::format("--prompt: the tokenizer is not the model's, which knows {} tokens, got token "
                    "{} in {}",
                    vocabulary,
                    highest,
                    in_quotes(prompt.text)));
  }
}

std::int64_t room_behind(const std::vector<Prompt>& prompts, std::int64_t context) {
  const auto size = [](const Prompt& prompt) { return prompt.tokens.size(); };
  const Prompt& longest = *std::ranges::max_element(prompts, {}, size);
  const std::int64_t room = context - std::ssize(longest.tokens);
  if (room >= 1) return room;
  throw UsageError(
      fmt::format("--prompt: the model's context of {} tokens must have room for at least one "
                  "behind the prompt, got {} tokens: {}",
                  context,
                  longest.tokens.size(),
                  in_quotes(longest.text)));
}

}  // namespace sheaf::cli
