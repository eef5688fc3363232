#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/bpe/added_tokens.h"
#include "data/bpe/definition.h"
#include "data/bpe/splitters.h"
#include "data/bpe/words.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::data::bpe {

/// Byte-pair encoding: added tokens are taken out, the rest is normalized, split into words, and
/// each word's bytes are joined by the merges. Bytes that are no UTF-8 are words of their own.
class BpeTokenizer final : public Tokenizer {
 public:
  /// Throws UsageError for a pattern that cannot be.
  explicit BpeTokenizer(Definition definition);
  ~BpeTokenizer() override;
  BpeTokenizer(const BpeTokenizer&) = delete;
  BpeTokenizer& operator=(const BpeTokenizer&) = delete;

  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string decode(std::span<const std::int64_t> tokens) const override;
  [[nodiscard]] std::int64_t vocabulary() const override {
    return static_cast<std::int64_t>(definition_.texts.size());
  }
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::uint64_t hash() const override { return hash_; }
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view text) const override;
  [[nodiscard]] std::vector<std::int64_t> complete(std::vector<std::int64_t> tokens) const override;

 private:
  class Borrowed;

  template <class Found>
  void split_text(std::string_view text, Found found) const;
  template <class Found>
  void split_section(std::string_view text, Found found) const;
  template <class Found>
  void split_plain(std::string_view text, Found found) const;
  template <class Found>
  void split_valid(std::string_view text, Found found) const;
  [[nodiscard]] std::string join_characters(std::span<const std::int64_t> tokens) const;
  void require_known(std::int64_t token) const;

  Definition definition_;
  std::string name_;
  std::uint64_t hash_;
  Words words_;
  AddedTokenFinder added_;
  AddedTokenFinder added_normalized_;
  std::vector<std::unique_ptr<const Splitter>> splitters_;
  std::optional<Scanner> scanner_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Words::Memory>> idle_;
};

}  // namespace sheaf::data::bpe
