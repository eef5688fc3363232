#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::data {

/// Turns text into tokens and back. Many threads may use one at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Returns the tokens of any bytes, valid UTF-8 or not.
  [[nodiscard]] virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  /// Returns the bytes of tokens; what one token holds need not be valid UTF-8. Throws UsageError
  /// for a token beyond the vocabulary.
  [[nodiscard]] virtual std::string decode(std::span<const std::int64_t> tokens) const = 0;
  /// Returns how many tokens there are: 0 up to one below this.
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// Returns a short name, such as "bytes".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Returns a number that stays the same as long as tokens mean the same; token files hold it.
  [[nodiscard]] virtual std::uint64_t hash() const = 0;
  /// Returns the token that stands for exactly this text, such as "<|endoftext|>".
  [[nodiscard]] virtual std::optional<std::int64_t> find(std::string_view text) const = 0;
  /// Returns the tokens of a text with those around them that the tokenizer's file wants for a
  /// model, such as begin-of-text. encode() adds none.
  [[nodiscard]] virtual std::vector<std::int64_t> complete(std::vector<std::int64_t> tokens) const {
    return tokens;
  }
};

/// Opens a tokenizer: "bytes", a Hugging Face tokenizer.json, GPT-2's vocab.json (merges.txt is
/// beside it), or a folder that has one of these. Throws UsageError if there is none, it is
/// damaged, or it needs something that is not supported.
[[nodiscard]] std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path);

/// Returns the files of a tokenizer that open_tokenizer() opens, by their usual names:
/// tokenizer.json, or vocab.json and merges.txt. "bytes" has a tokenizer.json of the same tokens.
[[nodiscard]] std::map<std::string, std::string> tokenizer_files(const std::string& path);

/// Encodes all texts on `threads` threads (0: one per core); results come in the order of the
/// texts. Rethrows what encoding threw.
[[nodiscard]] std::vector<std::vector<std::int64_t>> encode_all(
    const Tokenizer& tokenizer, std::span<const std::string_view> texts, int threads = 0);

}  // namespace sheaf::data
