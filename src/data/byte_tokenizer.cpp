#include "sheaf/data/byte_tokenizer.h"

#include <fmt/format.h>

#include "base/checksum.h"
#include "sheaf/base/error.h"

namespace sheaf::data {

std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const std::int64_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= kVocabulary) {
      throw UsageError(
          fmt::format("a byte is a token from 0 to {}, got {}", kVocabulary - 1, token));
    }
    text.push_back(static_cast<char>(token));
  }
  return text;
}

std::uint64_t ByteTokenizer::hash() const { return checksum_of(name()); }

std::optional<std::int64_t> ByteTokenizer::find(std::string_view text) const {
  if (text.size() != 1) return std::nullopt;
  return static_cast<unsigned char>(text.front());
}

}  // namespace sheaf::data
