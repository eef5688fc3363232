#include "support/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace sheaf::testing {

using nlohmann::json;

json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json split(const json& pattern, const std::string& behavior, bool invert) {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
}

json sequence(const std::string& list, const std::vector<json>& parts) {
  return {{"type", "Sequence"}, {list, parts}};
}

json gpt2_json(const std::string& folder) {
  std::ifstream vocabulary(folder + "/vocab.json");
  std::ifstream lines(folder + "/merges.txt");
  if (!vocabulary || !lines) throw std::runtime_error("GPT-2's files are not in " + folder);
  json merges = json::array();
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
  }
  json file{{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", byte_level(false, true)},
            {"post_processor", byte_level(false, true)},
            {"decoder", byte_level(false, true)},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", ""},
              {"end_of_word_suffix", ""},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"ignore_merges", false},
              {"vocab", json::parse(vocabulary)},
              {"merges", std::move(merges)}}}};
  add_token(file, "<|endoftext|>", {"special"});
  return file;
}

json llama3_like_json(const std::string& folder) {
  constexpr const char* kPattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  json file = gpt2_json(folder);
  file["pre_tokenizer"] = sequence(
      "pretokenizers", {split({{"Regex", kPattern}}, "Isolated"), byte_level(false, false)});
  file["model"]["ignore_merges"] = true;
  add_token(file, "<|begin|>", {"special"});
  const int begin = file["added_tokens"].back()["id"];
  const json token{{"SpecialToken", {{"id", "<|begin|>"}, {"type_id", 0}}}};
  const json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json frame{
      {"type", "TemplateProcessing"},
      {"single", json::array({token, text})},
      {"pair", json::array({token, text})},
      {"special_tokens",
       {{"<|begin|>", {{"id", "<|begin|>"}, {"ids", {begin}}, {"tokens", {"<|begin|>"}}}}}}};
  file["post_processor"] = sequence("processors", {byte_level(true, false), frame});
  return file;
}

json byte_fallback_json() {
  const std::string space = "\u2581";
  json file{{"version", "1.0"},
            {"added_tokens", json::array()},
            {"normalizer",
             sequence("normalizers",
                      {{{"type", "Prepend"}, {"prepend", space}},
                       {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}}})},
            {"pre_tokenizer", nullptr},
            {"post_processor", nullptr},
            {"decoder",
             sequence("decoders",
                      {{{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}},
                       {{"type", "ByteFallback"}},
                       {{"type", "Fuse"}},
                       {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}})}};
  json vocabulary = json::object();
  const auto add = [&](const std::string& token) { vocabulary[token] = vocabulary.size(); };
  for (const char* token : {"<unk>", "<s>", "</s>"}) add(token);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte));
  add(space);
  for (char c = 'a'; c <= 'z'; ++c) add(std::string(1, c));
  json merges = json::array();
  const auto merge = [&](const std::string& left, const std::string& right) {
    merges.push_back(left + " " + right);
    add(left + right);
  };
  merge("t", "h");
  merge("th", "e");
  merge(space, "the");
  merge(space, "a");
  merge(space, space);
  file["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", "<unk>"},
                   {"fuse_unk", true},
                   {"byte_fallback", true},
                   {"ignore_merges", false},
                   {"vocab", std::move(vocabulary)},
                   {"merges", std::move(merges)}};
  return file;
}

void add_token(json& file, const std::string& content, const std::vector<std::string>& flags) {
  const json& vocabulary = file["model"]["vocab"];
  std::size_t id = vocabulary.size();
  for (const json& token : file["added_tokens"]) {
    id += vocabulary.contains(token["content"].get<std::string>()) ? 0 : 1;
  }
  if (vocabulary.contains(content)) id = vocabulary[content].get<std::size_t>();
  json token{{"id", id}, {"content", content}};
  for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
    token[flag] = std::find(flags.begin(), flags.end(), flag) != flags.end();
  }
  file["added_tokens"].push_back(std::move(token));
}

}  // namespace sheaf::testing
