#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/bpe/definition.h"
#include "data/bpe/merger.h"
#include "data/bpe/pair_table.h"
#include "data/bpe/word_cache.h"

namespace sheaf::data::bpe {

/// Turns single words into tokens. Many threads may use one, each with a memory of its own.
class Words {
 public:
  /// What one thread keeps from word to word.
  struct Memory {
    explicit Memory(const Words& words) : merger(words.pairs_) {}
    Merger merger;
    WordCache cache;
    std::vector<std::uint32_t> tokens;
  };

  /// `definition` must outlive this.
  explicit Words(const Definition& definition);

  /// Appends the tokens of a word, which is not empty. Throws UsageError for what has no token.
  void encode(std::string_view word, Memory& memory, std::vector<std::int64_t>& out) const;
  /// Returns the token that is exactly this text.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;

 private:
  void split(std::string_view word, std::vector<std::uint32_t>& tokens) const;
  void split_bytes(std::string_view word, std::vector<std::uint32_t>& tokens) const;
  void split_characters(std::string_view word, std::vector<std::uint32_t>& tokens) const;
  [[nodiscard]] bool add_character(std::string_view character,
                                   std::vector<std::uint32_t>& tokens) const;

  const Definition& definition_;
  PairTable pairs_;
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
  std::array<std::optional<std::uint32_t>, 256> of_byte_{};
};

}  // namespace sheaf::data::bpe
