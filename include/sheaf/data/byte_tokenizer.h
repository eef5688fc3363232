#pragma once

#include "sheaf/data/tokenizer.h"

namespace sheaf::data {

/// One token per byte. Decoding puts the bytes out as they are and replaces nothing.
class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string decode(std::span<const std::int64_t> tokens) const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return kVocabulary; }
  [[nodiscard]] std::string_view name() const override { return "bytes"; }
  [[nodiscard]] std::uint64_t hash() const override;
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view text) const override;

  static constexpr std::int64_t kVocabulary = 256;
};

}  // namespace sheaf::data
