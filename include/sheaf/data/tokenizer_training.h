#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sheaf/base/options.h"

namespace sheaf::data {

/// How text is split into words, which merges never cross: as GPT-2 does, or as Llama 3 does
/// (numbers in groups of up to three digits, newlines kept together).
enum class WordPattern { gpt2, llama3 };

constexpr auto enum_names(WordPattern) {
  return std::array{EnumName{"gpt2", WordPattern::gpt2}, EnumName{"llama3", WordPattern::llama3}};
}

struct TokenizerTrainingOptions {
  /// Tokens in all, special ones and the 256 bytes among them.
  std::int64_t size = 0;
  WordPattern pattern = WordPattern::gpt2;
  /// Get the first numbers, and are never split.
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
  /// Pairs that are seen less often are not joined.
  std::int64_t min_count = 2;
  /// Ends the work with an Error as soon as it returns true.
  std::function<bool()> should_stop = {};
};

/// Throws UsageError for a size that is too small or special tokens that cannot be.
void check(const TokenizerTrainingOptions& options);

/// How often each word was seen.
class WordCounts {
 public:
  explicit WordCounts(WordPattern pattern) : pattern_(pattern) {}

  /// Counts the words of a text; bytes that are no UTF-8 are words of their own.
  void add(std::string_view text);
  /// Adds what another one has counted.
  void add(const WordCounts& other);
  /// Returns words and counts by word.
  [[nodiscard]] std::map<std::string, std::uint64_t> sorted() const;

 private:
  WordPattern pattern_;
  std::unordered_map<std::string, std::uint64_t> counts_;
};

/// Learns a byte-level BPE tokenizer and returns it as the text of a Hugging Face tokenizer.json.
/// The same for the same counts, and the same merges as the `tokenizers` package learns. Throws
/// what check() does.
[[nodiscard]] std::string train_tokenizer(const WordCounts& words,
                                          const TokenizerTrainingOptions& options);

/// Returns the tokenizer "bytes" as the text of such a file.
[[nodiscard]] std::string byte_tokenizer_json();

}  // namespace sheaf::data
