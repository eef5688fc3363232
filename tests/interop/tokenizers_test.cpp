// The same text encoded by sheaf, by Hugging Face's `tokenizers`, and by tiktoken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"
#include "support/run_command.h"
#include "support/tokenizer_files.h"
#include "support/tokenizer_texts.h"
#include "torchrun.h"
#include "train/sample_run.h"

namespace sheaf {
namespace {

using nlohmann::json;
using testing::add_token;
using testing::byte_level;
using testing::sequence;
using testing::split;

std::string in_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// A name and a text.
using Texts = std::vector<std::pair<std::string, std::string>>;

Texts all_texts() {
  auto texts = testing::difficult_texts();
  texts.emplace_back("Shakespeare", data::embedded_corpus().substr(0, 200'000));
  for (unsigned seed = 0; seed < 20; ++seed) {
    texts.emplace_back("Random" + std::to_string(seed), testing::random_text(seed, 400));
  }
  return texts;
}

/// Those that do not take long, for tests with many tokenizers.
Texts short_texts() {
  auto texts = all_texts();
  std::erase_if(texts, [](const auto& each) { return each.second.size() > 20'000; });
  return texts;
}

class Tokenizers : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto torchrun = testing::find_torchrun();
    if (!torchrun) GTEST_SKIP() << testing::kInstallTorchrun;
    python_ = std::filesystem::path(*torchrun).parent_path() / "python3";
    if (testing::run_command({python_, SHEAF_TOKENIZERS_PEER, "--check"}).exit_code != 0) {
      GTEST_SKIP() << "tokenizers or tiktoken are not installed: run '" << python_
                   << " -m pip install tokenizers tiktoken'";
    }
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  void run_peer(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {python_, SHEAF_TOKENIZERS_PEER});
    const auto result = testing::run_command(arguments);
    ASSERT_EQ(result.exit_code, 0) << testing::describe(result);
  }

  /// Returns what the peer makes of texts.
  [[nodiscard]] json ask(const std::string& mode,
                         const std::string& tokenizer,
                         const Texts& texts) const {
    json list = json::array();
    for (const auto& [name, text] : texts) list.push_back(in_hex(text));
    std::ofstream(path("texts.json")) << list;
    run_peer({mode, tokenizer, path("texts.json"), path("out.json")});
    std::ifstream file(path("out.json"));
    return json::parse(file);
  }

  /// Encodes texts on both sides and compares tokens and what they decode to.
  void compare(const json& file, const Texts& texts = all_texts()) const {
    std::ofstream(path("tokenizer.json")) << file;
    const auto tokenizer = data::open_tokenizer(path("tokenizer.json"));
    const json expected = ask("encode", path("tokenizer.json"), texts);
    ASSERT_EQ(expected.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto tokens = tokenizer->encode(from_hex(expected[i]["text"]));
      ASSERT_EQ(json(tokens), expected[i]["tokens"]) << texts[i].first;
      EXPECT_EQ(json(tokenizer->complete(tokens)), expected[i]["complete"]) << texts[i].first;
      EXPECT_EQ(in_hex(tokenizer->decode(tokens)), expected[i]["decoded"]) << texts[i].first;
    }
  }

  testing::TemporaryFolder folder_;
  std::string python_;
};

TEST_F(Tokenizers, AgreesOnGpt2) { compare(testing::gpt2_json(SHEAF_GPT2)); }

TEST_F(Tokenizers, AgreesOnGpt2sOwnFiles) {
  const auto tokenizer = data::open_tokenizer(SHEAF_GPT2);
  const auto texts = all_texts();
  const json expected = ask("tiktoken", SHEAF_GPT2 "/vocab.json", texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto tokens = tokenizer->encode(from_hex(expected[i]["text"]));
    ASSERT_EQ(json(tokens), expected[i]["tokens"]) << texts[i].first;
  }
}

TEST_F(Tokenizers, AgreesOnALlama3LikeFile) { compare(testing::llama3_like_json(SHEAF_GPT2)); }

TEST_F(Tokenizers, AgreesOnAQwenLikeFile) {
  json file = testing::llama3_like_json(SHEAF_GPT2);
  std::string expression = file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
  expression.replace(expression.find("{1,3}"), 5, "");
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = expression;
  file["model"]["ignore_merges"] = false;
  file["normalizer"] = {{"type", "NFC"}};
  compare(file);
}

TEST_F(Tokenizers, AgreesOnASmolLmLikeFile) {
  json file = testing::gpt2_json(SHEAF_GPT2);
  file["pre_tokenizer"] =
      sequence("pretokenizers",
               {{{"type", "Digits"}, {"individual_digits", true}}, byte_level(false, true)});
  compare(file);
}

TEST_F(Tokenizers, AgreesOnUnknownPatterns) {
  json file = testing::gpt2_json(SHEAF_GPT2);
  for (
      const char* expression :
      {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       R"([!-/]|\w+|\d|\s+)",
       R"([\p{P}\p{S}]+|\S+\s?)"}) {
    SCOPED_TRACE(expression);
    file["pre_tokenizer"] = sequence(
        "pretokenizers", {split({{"Regex", expression}}, "Isolated"), byte_level(false, false)});
    compare(file, short_texts());
  }
}

TEST_F(Tokenizers, AgreesOnEveryBehaviorOfSplits) {
  json file = testing::gpt2_json(SHEAF_GPT2);
  for (const char* behavior :
       {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
    for (const bool invert : {false, true}) {
      SCOPED_TRACE(std::string(behavior) + (invert ? " inverted" : ""));
      file["pre_tokenizer"] = sequence("pretokenizers",
                                       {split({{"Regex", R"([aeiou ])"}}, behavior, invert),
                                        split({{"String", "the"}}, "Isolated"),
                                        byte_level(false, true)});
      compare(file, short_texts());
    }
  }
}

TEST_F(Tokenizers, AgreesOnPrefixSpacesAndGroupedDigits) {
  json file = testing::gpt2_json(SHEAF_GPT2);
  file["pre_tokenizer"] =
      sequence("pretokenizers",
               {{{"type", "Digits"}, {"individual_digits", false}}, byte_level(true, true)});
  compare(file, short_texts());
}

TEST_F(Tokenizers, AgreesOnEveryUnicodeForm) {
  json file = testing::gpt2_json(SHEAF_GPT2);
  for (const char* form : {"NFC", "NFD", "NFKC", "NFKD"}) {
    SCOPED_TRACE(form);
    file["normalizer"] = sequence("normalizers", {{{"type", form}}});
    compare(file, short_texts());
  }
}

TEST_F(Tokenizers, AgreesOnEveryFlagOfAddedTokens) {
  const std::vector<std::vector<std::string>> kFlags = {{},
                                                        {"single_word"},
                                                        {"lstrip"},
                                                        {"rstrip"},
                                                        {"lstrip", "rstrip"},
                                                        {"normalized"},
                                                        {"normalized", "single_word"},
                                                        {"normalized", "lstrip", "rstrip"},
                                                        {"special", "lstrip", "single_word"}};
  for (const auto& flags : kFlags) {
    json file = testing::gpt2_json(SHEAF_GPT2);
    file["normalizer"] = {{"type", "NFC"}};
    for (const char* token : {"the", "or", " for", "\u212B \u212B", "  ", "it's", "wor"}) {
      add_token(file, token, flags);
    }
    SCOPED_TRACE(json(flags).dump());
    compare(file, short_texts());
  }
}

TEST_F(Tokenizers, AgreesOnCharactersWithByteFallback) { compare(testing::byte_fallback_json()); }

TEST_F(Tokenizers, AgreesOnEveryCharacter) {
  // Beside a letter, a digit, a space and a symbol, so that its class shows.
  Texts texts;
  for (char32_t first = 0; first < 0x30000; first += 0x100) {
    std::string text;
    for (char32_t c = first; c < first + 0x100; ++c) {
      if (c >= 0xd800 && c < 0xe000) continue;
      const std::string one = testing::as_utf8(c);
      text += "a" + one + "a 1" + one + "1 !" + one + "! " + one + one + "\n";
    }
    texts.emplace_back(std::to_string(first), text);
  }
  std::ofstream(path("tokenizer.json")) << testing::gpt2_json(SHEAF_GPT2);
  const auto tokenizer = data::open_tokenizer(path("tokenizer.json"));
  const json expected = ask("encode", path("tokenizer.json"), texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(json(tokenizer->encode(texts[i].second)) == expected[i]["tokens"])
        << "characters from " << texts[i].first << " on";
  }
}

class TrainedTokenizers : public Tokenizers,
                          public ::testing::WithParamInterface<data::WordPattern> {};

TEST_P(TrainedTokenizers, AreWhatThePackageLearnsAndReads) {
  const auto text = data::embedded_corpus().substr(0, 300'000);
  std::ofstream(path("text")) << text;
  data::WordCounts words(GetParam());
  words.add(text);
  const json ours =
      json::parse(data::train_tokenizer(words, {.size = 2000, .pattern = GetParam()}));
  run_peer(
      {"train", "2000", std::string(enum_name(GetParam())), path("text"), path("theirs.json")});
  std::ifstream file(path("theirs.json"));
  const json theirs = json::parse(file);
  EXPECT_TRUE(ours["model"]["vocab"] == theirs["model"]["vocab"]);
  json merges = json::array();
  for (const auto& merge : theirs["model"]["merges"]) {
    merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  EXPECT_TRUE(ours["model"]["merges"] == merges);
  compare(ours);
}

const auto kName = [](const auto& info) { return std::string(enum_name(info.param)); };
INSTANTIATE_TEST_SUITE_P(Patterns,
                         TrainedTokenizers,
                         ::testing::Values(data::WordPattern::gpt2, data::WordPattern::llama3),
                         kName);

}  // namespace
}  // namespace sheaf
