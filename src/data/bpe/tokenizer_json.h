#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/bpe/definition.h"
#include "data/bpe/json_view.h"

namespace sheaf::data::bpe {

/// Reads a Hugging Face tokenizer.json whose model is BPE. Throws UsageError, which names it, for
/// what is missing, damaged or not supported.
[[nodiscard]] Definition read_tokenizer_json(const nlohmann::json& file);

/// The parts of it that say how text is normalized, split, joined again and framed; each from its
/// own member of the file, which may be missing.
void read_normalizer(const JsonView& file, Definition& definition);
void read_pre_tokenizer(const JsonView& file, Definition& definition);
void read_decoder(const JsonView& file, Definition& definition);
/// Needs the vocabulary to be there.
void read_post_processor(const JsonView& file, Definition& definition);

/// Refuses a part of a kind that is not known here: "pre_tokenizer of type 'Metaspace' is not
/// supported, but these are: ...".
[[noreturn]] void refuse_type(const JsonView& part, std::string_view known);

}  // namespace sheaf::data::bpe
