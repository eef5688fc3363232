#include "data/bpe/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "data/bpe/code_points.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

[[noreturn]] void refuse(std::string_view unknown) {
  std::string bytes;
  for (const char c : unknown) bytes += fmt::format(" {:02X}", static_cast<unsigned char>(c));
  throw UsageError(fmt::format(
      "the tokenizer has no token for the bytes{}, and none for what is unknown", bytes));
}

}  // namespace

Words::Words(const Definition& definition) : definition_(definition), pairs_(definition.merges) {
  by_text_.reserve(definition.texts.size());
  for (std::uint32_t id = 0; id < definition.texts.size(); ++id) {
    if (!definition.in_words[id]) continue;
    const std::string& text = definition.texts[id];
    by_text_.emplace(text, id);
    if (definition.byte_level && text.size() == 1) {
      of_byte_.at(static_cast<unsigned char>(text.front())) = id;
    }
  }
}

std::optional<std::uint32_t> Words::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? std::nullopt : std::optional(found->second);
}

void Words::encode(std::string_view word, Memory& memory, std::vector<std::int64_t>& out) const {
  WordCache::Entry* slot = nullptr;
  WordCache::Key key;
  if (word.size() <= WordCache::kLongestWord) {
    key = WordCache::key_of(word);
    slot = &memory.cache.slot(key);
    if (slot->key == key) {
      out.insert(out.end(), slot->tokens.begin(), slot->tokens.begin() + slot->count);
      return;
    }
  }
  split(word, memory.tokens);
  memory.merger.merge(memory.tokens);
  out.insert(out.end(), memory.tokens.begin(), memory.tokens.end());
  if (slot == nullptr || memory.tokens.size() > WordCache::kMostTokens) return;
  slot->key = key;
  slot->count = static_cast<std::uint32_t>(memory.tokens.size());
  std::copy(memory.tokens.begin(), memory.tokens.end(), slot->tokens.begin());
}

void Words::split(std::string_view word, std::vector<std::uint32_t>& tokens) const {
  tokens.clear();
  if (definition_.whole_words) {
    if (const auto whole = find(word)) return tokens.push_back(*whole);
  }
  if (definition_.byte_level) return split_bytes(word, tokens);
  split_characters(word, tokens);
}

void Words::split_bytes(std::string_view word, std::vector<std::uint32_t>& tokens) const {
  bool after_unknown = false;
  for (const char& c : word) {
    const auto token = of_byte_[static_cast<unsigned char>(c)];
    if (!token && !definition_.unknown) refuse({&c, 1});
    if (token || !(after_unknown && definition_.fuse_unknown)) {
      tokens.push_back(token ? *token : *definition_.unknown);
    }
    after_unknown = !token;
  }
}

void Words::split_characters(std::string_view word, std::vector<std::uint32_t>& tokens) const {
  bool after_unknown = false;
  while (!word.empty()) {
    const std::size_t size = std::max<std::size_t>(1, read_code_point(word).size);
    const bool known = add_character(word.substr(0, size), tokens);
    if (!known && !definition_.unknown) refuse(word.substr(0, size));
    if (!known && !(after_unknown && definition_.fuse_unknown)) {
      tokens.push_back(*definition_.unknown);
    }
    after_unknown = !known;
    word.remove_prefix(size);
  }
}

bool Words::add_character(std::string_view character, std::vector<std::uint32_t>& tokens) const {
  if (const auto token = find(character)) {
    tokens.push_back(*token);
    return true;
  }
  if (!definition_.byte_tokens) return false;
  for (const char c : character) {
    tokens.push_back((*definition_.byte_tokens)[static_cast<unsigned char>(c)]);
  }
  return true;
}

}  // namespace sheaf::data::bpe
