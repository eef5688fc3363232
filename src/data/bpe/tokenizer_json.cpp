#include "data/bpe/tokenizer_json.h"

#include <fmt/format.h>

#include "base/quoting.h"
#include "data/bpe/vocabulary.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

using nlohmann::json;

void read_tokens(const JsonView& model, WrittenModel& written) {
  const json* tokens = model.find("vocab");
  if (tokens == nullptr || !tokens->is_object()) model.refuse("has no object 'vocab'");
  written.tokens.reserve(tokens->size());
  for (const auto& [name, id] : tokens->items()) {
    written.tokens.emplace(name, id_from(id, "model.vocab"));
  }
}

std::pair<std::string, std::string> merge_from(const json& value, std::size_t index) {
  const auto refuse = [&] {
    throw UsageError(fmt::format("model.merges[{}] must be two tokens", index));
  };
  if (value.is_array()) {
    if (value.size() != 2 || !value[0].is_string() || !value[1].is_string()) refuse();
    return {value[0].get<std::string>(), value[1].get<std::string>()};
  }
  if (!value.is_string()) refuse();
  const auto& line = value.get_ref<const std::string&>();
  const auto space = line.find(' ');
  if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) refuse();
  return {line.substr(0, space), line.substr(space + 1)};
}

void read_merges(const JsonView& model, WrittenModel& written) {
  const json* merges = model.find("merges");
  if (merges == nullptr || !merges->is_array()) model.refuse("has no list 'merges'");
  written.merges.reserve(merges->size());
  for (const json& each : *merges) {
    written.merges.push_back(merge_from(each, written.merges.size()));
  }
}

void check_model(const JsonView& model) {
  if (const auto type = model.text("type", "BPE"); type != "BPE") {
    model.refuse(fmt::format("of type {} is not supported, but BPE is", in_quotes(type)));
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.text(name, "").empty())
      model.refuse(fmt::format("has a {}, which is not supported", name));
  }
  const json* dropout = model.find("dropout");
  if (dropout != nullptr && !(dropout->is_number() && dropout->get<double>() == 0)) {
    model.refuse("has a dropout, which is not supported");
  }
}

void read_unknown(const JsonView& model, const WrittenModel& written, Definition& definition) {
  if (model.find("unk_token") == nullptr) return;
  const std::string name = model.text("unk_token");
  // GPT-2's own file names one of RoBERTa's that it does not have.
  const auto found = written.tokens.find(name);
  if (found != written.tokens.end()) definition.unknown = found->second;
  definition.fuse_unknown = model.flag("fuse_unk", false);
}

void read_byte_fallback(const JsonView& model,
                        const WrittenModel& written,
                        Definition& definition) {
  if (!model.flag("byte_fallback", false) || definition.byte_level) return;
  std::array<std::uint32_t, 256> tokens{};
  for (std::size_t byte = 0; byte < tokens.size(); ++byte) {
    const auto found = written.tokens.find(fmt::format("<0x{:02X}>", byte));
    if (found == written.tokens.end()) {
      model.refuse(fmt::format("has byte_fallback, but no token <0x{:02X}>", byte));
    }
    tokens.at(byte) = found->second;
  }
  definition.byte_tokens = tokens;
}

std::vector<AddedToken> read_added(const JsonView& file) {
  std::vector<AddedToken> tokens;
  for (const JsonView& each : file.objects("added_tokens")) {
    const json* id = each.find("id");
    if (id == nullptr) each.refuse("has no 'id'");
    const bool special = each.flag("special", false);
    tokens.push_back({.id = id_from(*id, each.place()),
                      .text = each.text("content"),
                      .single_word = each.flag("single_word", false),
                      .takes_left = each.flag("lstrip", false),
                      .takes_right = each.flag("rstrip", false),
                      .normalized = each.flag("normalized", !special),
                      .special = special});
  }
  return tokens;
}

}  // namespace

void refuse_type(const JsonView& part, std::string_view known) {
  part.refuse(fmt::format(
      "of type {} is not supported, but these are: {}", in_quotes(part.text("type")), known));
}

Definition read_tokenizer_json(const json& root) {
  const JsonView file(root, "");
  const JsonView model = file.required_object("model");
  check_model(model);
  Definition definition;
  read_normalizer(file, definition);
  read_pre_tokenizer(file, definition);
  read_decoder(file, definition);
  WrittenModel written;
  read_tokens(model, written);
  read_merges(model, written);
  fill_in(definition, written);
  definition.whole_words = model.flag("ignore_merges", false);
  read_unknown(model, written, definition);
  read_byte_fallback(model, written, definition);
  add_tokens(definition, written, read_added(file));
  read_post_processor(file, definition);
  return definition;
}

}  // namespace sheaf::data::bpe
