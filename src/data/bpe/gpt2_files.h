#pragma once

#include <string_view>

#include "data/bpe/definition.h"

namespace sheaf::data::bpe {

/// Reads GPT-2's vocab.json and merges.txt. A token <|endoftext|> is an added one, as GPT-2 has it.
/// Throws UsageError for what is damaged.
[[nodiscard]] Definition read_gpt2_files(std::string_view vocab_json, std::string_view merges_txt);

}  // namespace sheaf::data::bpe
