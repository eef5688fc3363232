#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/bpe/definition.h"

namespace sheaf::data::bpe {

/// Tokens and merges as files write them: bytes of a byte-level tokenizer as ByteAlphabet's
/// letters.
struct WrittenModel {
  std::unordered_map<std::string, std::uint32_t> tokens;
  std::vector<std::pair<std::string, std::string>> merges;
};

/// Writes tokens and merges into a definition whose `byte_level` is set. Throws UsageError if two
/// tokens have one number, or a merge has a part or a result that is no token.
void fill_in(Definition& definition, const WrittenModel& model);

/// Adds tokens that are looked for in the text; those that are no tokens of the model get a place.
/// Throws UsageError if a number belongs to another token.
void add_tokens(Definition& definition, const WrittenModel& model, std::vector<AddedToken> tokens);

}  // namespace sheaf::data::bpe
