#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/quoting.h"
#include "base/utf8.h"
#include "data/bpe/byte_alphabet.h"
#include "data/bpe/code_points.h"
#include "data/bpe/merge_learner.h"
#include "data/bpe/scanners.h"
#include "sheaf/base/error.h"
#include "sheaf/data/tokenizer_training.h"

namespace sheaf::data {
namespace {

using nlohmann::json;

constexpr std::int64_t kBytes = 256;

std::string_view expression_of(WordPattern pattern) {
  return pattern == WordPattern::gpt2 ? bpe::kGpt2Pattern : bpe::kLlama3Pattern;
}

/// Bytes in the order of the letters that stand for them, which is the order of their tokens.
std::vector<unsigned char> bytes_in_order(const bpe::ByteAlphabet& alphabet) {
  std::vector<unsigned char> bytes(kBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  std::ranges::sort(bytes, {}, [&](unsigned char byte) { return alphabet.letter(byte); });
  return bytes;
}

std::vector<bpe::CountedWord> as_tokens(const std::map<std::string, std::uint64_t>& words,
                                        const std::array<std::uint32_t, kBytes>& of_byte) {
  std::vector<bpe::CountedWord> result;
  result.reserve(words.size());
  for (const auto& [word, count] : words) {
    bpe::CountedWord counted{.count = static_cast<std::int64_t>(count)};
    for (const char c : word) counted.tokens.push_back(of_byte[static_cast<unsigned char>(c)]);
    result.push_back(std::move(counted));
  }
  return result;
}

json pre_tokenizer_of(WordPattern pattern) {
  const auto byte_level = [](bool use_regex) {
    return json{{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", use_regex}};
  };
  if (pattern == WordPattern::gpt2) return byte_level(true);
  const json split{{"type", "Split"},
                   {"pattern", {{"Regex", expression_of(pattern)}}},
                   {"behavior", "Isolated"},
                   {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level(false)}}};
}

json added_tokens_of(const std::vector<std::string>& specials) {
  json list = json::array();
  for (const std::string& token : specials) {
    list.push_back({{"id", list.size()},
                    {"content", token},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  }
  return list;
}

json model_of(const bpe::MergeLearner& learner) {
  const auto& names = learner.names();
  json tokens = json::object();
  for (std::size_t id = 0; id < names.size(); ++id) tokens[names[id]] = id;
  json merges = json::array();
  for (const bpe::Merge& merge : learner.merges()) {
    merges.push_back(names[merge.left] + " " + names[merge.right]);
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(tokens)},
          {"merges", std::move(merges)}};
}

std::string text_of(const bpe::MergeLearner& learner, const TokenizerTrainingOptions& options) {
  const json file{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", added_tokens_of(options.special_tokens)},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", pre_tokenizer_of(options.pattern)},
                  {"post_processor", nullptr},
                  {"decoder",
                   {{"type", "ByteLevel"},
                    {"add_prefix_space", true},
                    {"trim_offsets", true},
                    {"use_regex", true}}},
                  {"model", model_of(learner)}};
  return file.dump(1) + "\n";
}

}  // namespace

void check(const TokenizerTrainingOptions& options) {
  std::set<std::string> seen;
  for (const std::string& token : options.special_tokens) {
    if (token.size() < 2 || !is_utf8(token)) {
      throw UsageError("a special token must be a text of at least two bytes, got " +
                       in_quotes(token));
    }
    if (!seen.insert(token).second) {
      throw UsageError("a special token can be given once, got " + in_quotes(token) + " twice");
    }
  }
  const auto least = kBytes + static_cast<std::int64_t>(options.special_tokens.size());
  if (options.size < least || options.size > bpe::kMostTokens) {
    throw UsageError(
        fmt::format("a tokenizer's size must be between {} (bytes and special tokens) "
                    "and {}, got {}",
                    least,
                    bpe::kMostTokens,
                    options.size));
  }
}

void WordCounts::add(std::string_view text) {
  const auto scanner = bpe::scanner_for(expression_of(pattern_));
  std::string word;
  const auto count = [&](std::string_view found) {
    word.assign(found);
    ++counts_[word];
  };
  while (!text.empty()) {
    const char* const end = text.data() + bpe::valid_prefix(text);
    for (const char* at = text.data(); at < end;) {
      const std::size_t size = scanner->word_at(at, end);
      count({at, size});
      at += size;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t invalid = bpe::invalid_prefix(text);
    if (invalid > 0) count(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

void WordCounts::add(const WordCounts& other) {
  for (const auto& [word, count] : other.counts_) counts_[word] += count;
}

std::map<std::string, std::uint64_t> WordCounts::sorted() const {
  return {counts_.begin(), counts_.end()};
}

std::string train_tokenizer(const WordCounts& words, const TokenizerTrainingOptions& options) {
  check(options);
  std::vector<std::string> names = options.special_tokens;
  std::array<std::uint32_t, kBytes> of_byte{};
  const bpe::ByteAlphabet alphabet;
  for (const unsigned char byte : bytes_in_order(alphabet)) {
    of_byte.at(byte) = static_cast<std::uint32_t>(names.size());
    names.push_back(alphabet.letters_of({reinterpret_cast<const char*>(&byte), 1}));
  }
  bpe::MergeLearner learner(
      as_tokens(words.sorted(), of_byte), std::move(names), options.should_stop);
  learner.learn({.size = static_cast<std::size_t>(options.size), .min_count = options.min_count});
  return text_of(learner, options);
}

std::string byte_tokenizer_json() {
  const bpe::ByteAlphabet alphabet;
  std::vector<std::string> names;
  for (std::int64_t byte = 0; byte < kBytes; ++byte) {
    const auto letter = static_cast<char>(byte);
    names.push_back(alphabet.letters_of({&letter, 1}));
  }
  return text_of(bpe::MergeLearner({}, std::move(names)), {.special_tokens = {}});
}

}  // namespace sheaf::data
