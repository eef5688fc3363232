#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sheaf/data/tokenizer.h"

namespace sheaf::cli {

/// The text of what follows a prompt, while its tokens come in.
class ContinuationText {
 public:
  /// The text ends before the first of `stops` that comes.
  ContinuationText(std::shared_ptr<const data::Tokenizer> tokenizer,
                   std::span<const std::int64_t> prompt,
                   std::vector<std::string> stops);

  /// Takes the next token. Returns false if one of the stops has come.
  bool add(std::int64_t token);
  /// Returns what further tokens cannot change, without what was returned before: whole characters,
  /// and nothing that may turn out to be a stop.
  [[nodiscard]] std::string take();
  /// Returns all that was not returned before; there is no further token.
  [[nodiscard]] std::string take_rest();

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void move_window();
  bool cut_at_stop(std::size_t from);
  [[nodiscard]] std::size_t certain_size() const;
  [[nodiscard]] std::string take_up_to(std::size_t end);

  std::shared_ptr<const data::Tokenizer> tokenizer_;
  std::vector<std::string> stops_;
  std::size_t longest_stop_ = 0;
  /// The last tokens, and some before them: what a token means may depend on those.
  std::vector<std::int64_t> window_;
  /// Bytes of the window's text that are in `settled_` or the prompt.
  std::size_t known_ = 0;
  std::string settled_;
  std::string text_;
  std::size_t taken_ = 0;
};

}  // namespace sheaf::cli
