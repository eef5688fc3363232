#include <fmt/format.h>

#include <array>

#include "base/quoting.h"
#include "data/bpe/scanners.h"
#include "data/bpe/tokenizer_json.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

using nlohmann::json;

// A file whose sequences hold sequences without end is not worth a crash.
constexpr int kDeepest = 8;

/// Calls `read` with a part, or with each part of a Sequence, whose list has the name `list`.
template <class Read>
void for_each_part(const JsonView& part, std::string_view list, const Read& read, int depth = 0) {
  if (part.text("type") != "Sequence") return read(part);
  if (depth > kDeepest) part.refuse("has too many sequences in one another");
  for (const JsonView& each : part.objects(list)) for_each_part(each, list, read, depth + 1);
}

/// Reads {"String": "..."} or {"Regex": "..."}; the flag says whether it is the first.
std::pair<std::string, bool> read_pattern(const JsonView& part) {
  const JsonView pattern = part.required_object("pattern");
  const bool is_text = pattern.find("String") != nullptr;
  std::string expression = pattern.text(is_text ? "String" : "Regex");
  if (expression.empty()) pattern.refuse("is empty");
  return {std::move(expression), is_text};
}

NormalStep read_normal_step(const JsonView& part) {
  const std::string type = part.text("type");
  if (type == "NFC") return UnicodeForm::nfc;
  if (type == "NFD") return UnicodeForm::nfd;
  if (type == "NFKC") return UnicodeForm::nfkc;
  if (type == "NFKD") return UnicodeForm::nfkd;
  if (type == "Prepend") return Prepend{part.text("prepend")};
  if (type != "Replace") refuse_type(part, "NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence");
  auto [from, is_text] = read_pattern(part);
  if (!is_text) part.refuse("replaces by a regular expression, which is not supported");
  return Replace{std::move(from), part.text("content")};
}

SplitBehavior read_behavior(const JsonView& part) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames{
      {{"Removed", SplitBehavior::removed},
       {"Isolated", SplitBehavior::isolated},
       {"MergedWithPrevious", SplitBehavior::merged_with_previous},
       {"MergedWithNext", SplitBehavior::merged_with_next},
       {"Contiguous", SplitBehavior::contiguous}}};
  const std::string name = part.text("behavior");
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  part.refuse(fmt::format("has the unknown behavior {}", in_quotes(name)));
}

void read_byte_level(const JsonView& part, Definition& definition) {
  if (part.flag("add_prefix_space", true)) definition.split_steps.emplace_back(PrefixSpace{});
  if (part.flag("use_regex", true)) {
    definition.split_steps.emplace_back(SplitByPattern{.expression = std::string(kGpt2Pattern)});
  }
  definition.byte_level = true;
}

void read_split_step(const JsonView& part, Definition& definition) {
  // What comes after it would see the letters that stand for bytes.
  if (definition.byte_level) part.refuse("comes after ByteLevel, which is not supported");
  const std::string type = part.text("type");
  if (type == "ByteLevel") return read_byte_level(part, definition);
  if (type == "Digits") {
    definition.split_steps.emplace_back(
        SplitDigits{.each_alone = part.flag("individual_digits", false)});
    return;
  }
  if (type != "Split") refuse_type(part, "ByteLevel, Split, Digits, Sequence");
  auto [expression, is_text] = read_pattern(part);
  definition.split_steps.emplace_back(SplitByPattern{.expression = std::move(expression),
                                                     .is_text = is_text,
                                                     .behavior = read_behavior(part),
                                                     .invert = part.flag("invert", false)});
}

StripEnds read_strip(const JsonView& part) {
  StripEnds step{.character = part.text("content"),
                 .start = part.number("start"),
                 .stop = part.number("stop")};
  if (step.character.empty()) part.refuse("strips nothing");
  return step;
}

void read_decode_step(const JsonView& part, Definition& definition) {
  const std::string type = part.text("type");
  if (type == "ByteLevel") {
    if (!definition.byte_level) part.refuse("is ByteLevel, but the pre_tokenizer is not");
    return;
  }
  if (definition.byte_level) {
    // Bytes are joined as they are; nothing may change them after that.
    if (type == "Fuse" || type == "ByteFallback") return;
    refuse_type(part, "ByteLevel, Fuse, Sequence");
  }
  if (type == "ByteFallback") {
    definition.decode_steps.emplace_back(JoinBytes{});
  } else if (type == "Fuse") {
    definition.decode_steps.emplace_back(JoinAll{});
  } else if (type == "Strip") {
    definition.decode_steps.emplace_back(read_strip(part));
  } else if (type == "Replace") {
    auto [from, is_text] = read_pattern(part);
    if (!is_text) part.refuse("replaces by a regular expression, which is not supported");
    definition.decode_steps.emplace_back(Replace{std::move(from), part.text("content")});
  } else {
    refuse_type(part, "ByteLevel, ByteFallback, Fuse, Strip, Replace, Sequence");
  }
}

std::vector<std::uint32_t> special_tokens(const JsonView& known,
                                          const std::string& name,
                                          const Definition& definition) {
  const JsonView token = known.required_object(name);
  const json* ids = token.find("ids");
  if (ids == nullptr || !ids->is_array()) token.refuse("has no list 'ids'");
  std::vector<std::uint32_t> tokens;
  for (const json& each : *ids) {
    tokens.push_back(id_from(each, token.place()));
    if (tokens.back() >= definition.texts.size()) {
      token.refuse(fmt::format("has a token that is not in the vocabulary, {}", tokens.back()));
    }
  }
  return tokens;
}

void read_template(const JsonView& part, Definition& definition) {
  bool after_text = false;
  for (const JsonView& piece : part.objects("single")) {
    if (piece.find("Sequence") != nullptr) {
      if (after_text) piece.refuse("has the text a second time, which is not supported");
      after_text = true;
      continue;
    }
    const std::string name = piece.required_object("SpecialToken").text("id");
    const auto tokens = special_tokens(part.required_object("special_tokens"), name, definition);
    auto& side = after_text ? definition.after_text : definition.before_text;
    side.insert(side.end(), tokens.begin(), tokens.end());
  }
}

}  // namespace

void read_normalizer(const JsonView& file, Definition& definition) {
  const auto part = file.object("normalizer");
  if (!part) return;
  for_each_part(*part, "normalizers", [&](const JsonView& each) {
    definition.normal_steps.push_back(read_normal_step(each));
  });
}

void read_pre_tokenizer(const JsonView& file, Definition& definition) {
  definition.byte_level = false;
  const auto part = file.object("pre_tokenizer");
  if (!part) return;
  for_each_part(
      *part, "pretokenizers", [&](const JsonView& each) { read_split_step(each, definition); });
}

void read_decoder(const JsonView& file, Definition& definition) {
  const auto part = file.object("decoder");
  if (!part) return;
  for_each_part(
      *part, "decoders", [&](const JsonView& each) { read_decode_step(each, definition); });
}

void read_post_processor(const JsonView& file, Definition& definition) {
  const auto part = file.object("post_processor");
  if (!part) return;
  for_each_part(*part, "processors", [&](const JsonView& each) {
    const std::string type = each.text("type");
    if (type == "TemplateProcessing") return read_template(each, definition);
    if (type != "ByteLevel") refuse_type(each, "ByteLevel, TemplateProcessing, Sequence");
  });
}

}  // namespace sheaf::data::bpe
