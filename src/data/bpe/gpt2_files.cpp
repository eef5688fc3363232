#include "data/bpe/gpt2_files.h"

#include <fmt/format.h>

#include "data/bpe/json_view.h"
#include "data/bpe/scanners.h"
#include "data/bpe/vocabulary.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

void read_merges(std::string_view text, WrittenModel& model) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const auto space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw UsageError(fmt::format("line {} of merges.txt must be two tokens", number));
    }
    model.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
}

}  // namespace

Definition read_gpt2_files(std::string_view vocab_json, std::string_view merges_txt) {
  const auto tokens = parse_json(vocab_json);
  if (!tokens.is_object()) throw UsageError("vocab.json must be an object of tokens");
  WrittenModel model;
  for (const auto& [name, id] : tokens.items()) {
    model.tokens.emplace(name, id_from(id, "vocab.json"));
  }
  read_merges(merges_txt, model);
  Definition definition;
  definition.split_steps.emplace_back(SplitByPattern{.expression = std::string(kGpt2Pattern)});
  fill_in(definition, model);
  const auto end = model.tokens.find(kEndOfText);
  if (end != model.tokens.end()) {
    add_tokens(definition, model, {{.id = end->second, .text = kEndOfText, .special = true}});
  }
  return definition;
}

}  // namespace sheaf::data::bpe
