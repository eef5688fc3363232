#pragma once

#include <cstdint>
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
};

}  // namespace sheaf::data
