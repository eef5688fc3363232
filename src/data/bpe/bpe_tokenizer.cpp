#include "data/bpe/bpe_tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "data/bpe/code_points.h"
#include "data/bpe/decode_steps.h"
#include "data/bpe/normalizer.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

/// Tokens that are looked for after normalization, or those that are looked for before.
AddedTokenFinder finder_of(const Definition& definition, bool normalized_ones) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> texts;
  for (const AddedToken& token : definition.added) {
    if (token.normalized != normalized_ones) continue;
    tokens.push_back(token);
    texts.push_back(token.normalized ? normalized(definition.normal_steps, token.text)
                                     : token.text);
  }
  return {std::move(tokens), texts};
}

}  // namespace

/// A memory that nobody else uses until this goes; then it waits for the next call.
class BpeTokenizer::Borrowed {
 public:
  explicit Borrowed(const BpeTokenizer& owner) : owner_(owner) {
    const std::lock_guard lock(owner.mutex_);
    if (owner.idle_.empty()) return;
    memory_ = std::move(owner.idle_.back());
    owner.idle_.pop_back();
  }
  ~Borrowed() {
    if (!memory_) return;
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(memory_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  Words::Memory& get() {
    if (!memory_) memory_ = std::make_unique<Words::Memory>(owner_.words_);
    return *memory_;
  }

 private:
  const BpeTokenizer& owner_;
  std::unique_ptr<Words::Memory> memory_;
};

BpeTokenizer::BpeTokenizer(Definition definition)
    : definition_(std::move(definition)),
      name_(fmt::format("bpe-{}", definition_.texts.size())),
      hash_(hash_of(definition_)),
      words_(definition_),
      added_(finder_of(definition_, false)),
      added_normalized_(finder_of(definition_, true)),
      scanner_(only_scanner(definition_.split_steps)) {
  for (const SplitStep& step : definition_.split_steps) splitters_.push_back(make_splitter(step));
}

BpeTokenizer::~BpeTokenizer() = default;

// Note [From text to words]
// split_text takes out added tokens that are looked for in the text as it is, split_section
// normalizes the rest and takes out those that are looked for after that, split_plain takes out
// bytes that are no UTF-8, split_valid splits what remains into words. `found` is called with each
// word and no token, or with an added token's text and the token.
template <class Found>
void BpeTokenizer::split_text(std::string_view text, Found found) const {
  if (added_.empty()) return split_section(text, found);
  std::vector<Section> sections;
  added_.split(text, sections);
  for (const Section& section : sections) {
    if (section.token) {
      found(section.text, section.token);
    } else {
      split_section(section.text, found);
    }
  }
}

template <class Found>
void BpeTokenizer::split_section(std::string_view text, Found found) const {
  std::string changed;
  if (!is_normal(definition_.normal_steps, text)) {
    changed = normalized(definition_.normal_steps, text);
    text = changed;
  }
  if (added_normalized_.empty()) return split_plain(text, found);
  std::vector<Section> sections;
  added_normalized_.split(text, sections);
  for (const Section& section : sections) {
    if (section.token) {
      found(section.text, section.token);
    } else {
      split_plain(section.text, found);
    }
  }
}

template <class Found>
void BpeTokenizer::split_plain(std::string_view text, Found found) const {
  while (!text.empty()) {
    const std::size_t valid = valid_prefix(text);
    if (valid > 0) split_valid(text.substr(0, valid), found);
    text.remove_prefix(valid);
    const std::size_t invalid = invalid_prefix(text);
    if (invalid > 0) found(text.substr(0, invalid), std::optional<std::uint32_t>());
    text.remove_prefix(invalid);
  }
}

template <class Found>
void BpeTokenizer::split_valid(std::string_view text, Found found) const {
  constexpr std::optional<std::uint32_t> kNoToken;
  if (scanner_) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const std::size_t size = scanner_->word_at(at, end);
      found(std::string_view(at, size), kNoToken);
      at += size;
    }
    return;
  }
  Parts parts{.list = {text}};
  for (const auto& splitter : splitters_) splitter->split(parts);
  for (const std::string_view word : parts.list) found(word, kNoToken);
}

std::vector<std::int64_t> BpeTokenizer::encode(std::string_view text) const {
  constexpr std::size_t kBytesPerToken = 3;
  std::vector<std::int64_t> tokens;
  tokens.reserve(text.size() / kBytesPerToken + 1);
  Borrowed borrowed(*this);
  Words::Memory& memory = borrowed.get();
  split_text(text, [&](std::string_view word, std::optional<std::uint32_t> token) {
    if (token) {
      tokens.push_back(*token);
    } else {
      words_.encode(word, memory, tokens);
    }
  });
  return tokens;
}

void BpeTokenizer::require_known(std::int64_t token) const {
  if (token >= 0 && token < vocabulary()) return;
  throw UsageError(
      fmt::format("a token of this tokenizer is from 0 to {}, got {}", vocabulary() - 1, token));
}

std::string BpeTokenizer::decode(std::span<const std::int64_t> tokens) const {
  for (const std::int64_t token : tokens) require_known(token);
  if (!definition_.byte_level) return join_characters(tokens);
  std::string text;
  for (const std::int64_t token : tokens) {
    text += definition_.texts[static_cast<std::size_t>(token)];
  }
  return text;
}

std::string BpeTokenizer::join_characters(std::span<const std::int64_t> tokens) const {
  std::vector<std::string> texts;
  texts.reserve(tokens.size());
  for (const std::int64_t token : tokens) {
    texts.push_back(definition_.texts[static_cast<std::size_t>(token)]);
  }
  return joined(definition_.decode_steps, std::move(texts));
}

std::optional<std::int64_t> BpeTokenizer::find(std::string_view text) const {
  for (const AddedToken& token : definition_.added) {
    if (token.text == text) return token.id;
  }
  const auto found = words_.find(text);
  return found ? std::optional<std::int64_t>(*found) : std::nullopt;
}

std::vector<std::int64_t> BpeTokenizer::complete(std::vector<std::int64_t> tokens) const {
  tokens.insert(tokens.begin(), definition_.before_text.begin(), definition_.before_text.end());
  tokens.insert(tokens.end(), definition_.after_text.begin(), definition_.after_text.end());
  return tokens;
}

}  // namespace sheaf::data::bpe
