#include "cli/generate/session.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/generate/continuation_text.h"

namespace sheaf::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The prompts of one batch while they are continued.
class Watcher {
 public:
  Watcher(const SessionOptions& options,
          std::span<const Prompt> prompts,
          const GenerateSession::Show& show)
      : options_(options), show_(show), stopped_(prompts.size(), false) {
    for (const Prompt& prompt : prompts) {
      texts_.emplace_back(options.tokenizer, prompt.tokens, options.stops);
    }
  }

  /// Returns whether the text goes on.
  bool take(std::size_t text, std::int64_t token) {
    if (!first_token_) first_token_ = Clock::now();
    stopped_[text] = !texts_[text].add(token);
    if (show_ && text == 0) show_(texts_[text].take());
    return !stopped_[text] && !is_interrupted();
  }

  void show_rest() {
    if (show_) show_(texts_.front().take_rest());
  }

  [[nodiscard]] bool is_interrupted() const {
    return options_.should_stop && options_.should_stop();
  }

  [[nodiscard]] GeneratedText result(std::size_t i,
                                     const Prompt& prompt,
                                     const models::Continuation& continuation) const {
    const auto ending = [&]() -> std::string_view {
      if (continuation.ending == models::Ending::length) return "length";
      if (continuation.ending == models::Ending::stop) return "end";
      return stopped_[i] ? "stop" : "interrupted";
    }();
    return {.prompt = prompt,
            .text = texts_[i].text(),
            .num_tokens = std::ssize(continuation.tokens),
            .ending = ending};
  }

  /// When the first token came; `otherwise` if none did.
  [[nodiscard]] Clock::time_point first_token_or(Clock::time_point otherwise) const {
    return first_token_.value_or(otherwise);
  }

 private:
  const SessionOptions& options_;
  const GenerateSession::Show& show_;
  std::vector<ContinuationText> texts_;
  std::vector<bool> stopped_;
  std::optional<Clock::time_point> first_token_;
};

}  // namespace

std::vector<GeneratedText> GenerateSession::run(std::span<const Prompt> prompts, const Show& show) {
  Watcher watcher(options_, prompts, show);
  models::GenerateOptions generate = options_.generate;
  generate.seed += num_texts_;
  num_texts_ += prompts.size();
  generate.on_token = [&](std::size_t text, std::int64_t token) {
    return watcher.take(text, token);
  };
  std::vector<std::vector<std::int64_t>> tokens;
  for (const Prompt& prompt : prompts) tokens.push_back(prompt.tokens);
  const Clock::time_point begin = Clock::now();
  const auto continued = models::generate_all(*options_.model, tokens, generate);
  const Clock::time_point end = Clock::now();
  watcher.show_rest();
  const Clock::time_point read = watcher.first_token_or(end);
  speed_.prompt_time += read - begin;
  speed_.later_time += end - read;
  std::vector<GeneratedText> results;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    results.push_back(watcher.result(i, prompts[i], continued[i]));
    speed_.prompt_tokens += std::ssize(prompts[i].tokens);
    speed_.new_tokens += results.back().num_tokens;
    speed_.later_tokens += std::max<std::int64_t>(results.back().num_tokens - 1, 0);
  }
  return results;
}

}  // namespace sheaf::cli
