#include "data/bpe/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "data/bpe/byte_alphabet.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

void make_room(Definition& definition, std::uint32_t id) {
  if (id < definition.texts.size()) return;
  definition.texts.resize(id + std::size_t{1});
  definition.in_words.resize(id + std::size_t{1});
}

void fill_tokens(Definition& definition, const WrittenModel& model) {
  const ByteAlphabet alphabet;
  std::vector<const std::string*> names;
  for (const auto& [name, id] : model.tokens) {
    make_room(definition, id);
    names.resize(std::max<std::size_t>(names.size(), id + std::size_t{1}));
    if (names[id] != nullptr) {
      // Which of the two comes first is up to the table; the message is not.
      const auto [first, second] = std::minmax(*names[id], name);
      throw UsageError(fmt::format(
          "two tokens have the number {}: {} and {}", id, in_quotes(first), in_quotes(second)));
    }
    names[id] = &name;
    const auto bytes = definition.byte_level ? alphabet.bytes_of(name) : name;
    definition.texts[id] = bytes.value_or(name);
    definition.in_words[id] = bytes.has_value() && !name.empty();
  }
}

std::uint32_t token_of(const WrittenModel& model, const std::string& name, std::size_t merge) {
  const auto found = model.tokens.find(name);
  if (found == model.tokens.end()) {
    throw UsageError(fmt::format(
        "merge {} needs a token that is not in the vocabulary: {}", merge, in_quotes(name)));
  }
  return found->second;
}

/// Gives an added token that is not in the vocabulary its place.
void place_token(Definition& definition, const AddedToken& token) {
  std::string& place = definition.texts[token.id];
  if (!place.empty() && place != token.text) {
    throw UsageError(fmt::format(
        "the added token {} has the number {} of another token", in_quotes(token.text), token.id));
  }
  place = token.text;
}

}  // namespace

void fill_in(Definition& definition, const WrittenModel& model) {
  if (model.tokens.empty()) throw UsageError("the vocabulary is empty");
  fill_tokens(definition, model);
  definition.merges.reserve(model.merges.size());
  for (std::size_t i = 0; i < model.merges.size(); ++i) {
    const auto& [left, right] = model.merges[i];
    definition.merges.push_back({.left = token_of(model, left, i),
                                 .right = token_of(model, right, i),
                                 .result = token_of(model, left + right, i)});
  }
}

void add_tokens(Definition& definition, const WrittenModel& model, std::vector<AddedToken> tokens) {
  for (AddedToken& token : tokens) {
    if (token.text.empty()) throw UsageError(fmt::format("the added token {} is empty", token.id));
    const auto known = model.tokens.find(token.text);
    if (known != model.tokens.end() && known->second != token.id) {
      throw UsageError(fmt::format("the added token {} has the number {}, but {} in the vocabulary",
                                   in_quotes(token.text),
                                   token.id,
                                   known->second));
    }
    make_room(definition, token.id);
    if (known == model.tokens.end()) place_token(definition, token);
    definition.added.push_back(std::move(token));
  }
  std::ranges::sort(definition.added, {}, &AddedToken::id);
}

}  // namespace sheaf::data::bpe
