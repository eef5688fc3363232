#include "data/bpe/bpe_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "data/bpe/tokenizer_json.h"
#include "sheaf/data/embedded_corpus.h"
#include "support/on_ranks.h"
#include "support/tokenizer_files.h"
#include "support/tokenizer_texts.h"

namespace sheaf::data::bpe {
namespace {

using nlohmann::json;
using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

BpeTokenizer tokenizer_from(const json& file) { return BpeTokenizer(read_tokenizer_json(file)); }

/// GPT-2 from its two files, read once for all tests.
const Tokenizer& gpt2() {
  static const auto kTokenizer = open_tokenizer(SHEAF_GPT2);
  return *kTokenizer;
}

TEST(Gpt2Tokenizer, GivesTheTokensOfGpt2) {
  EXPECT_EQ(gpt2().vocabulary(), 50'257);
  EXPECT_THAT(gpt2().encode("Hello world"), ElementsAre(15496, 995));
  EXPECT_THAT(gpt2().encode("Hello<|endoftext|> world"), ElementsAre(15496, 50256, 995));
  EXPECT_EQ(gpt2().find("<|endoftext|>"), 50'256);
  EXPECT_EQ(gpt2().find("no such token"), std::nullopt);
  EXPECT_EQ(gpt2().name(), "bpe-50257");
}

TEST(Gpt2Tokenizer, DecodesWhatItEncodes) {
  for (const auto& [name, text] : sheaf::testing::difficult_texts()) {
    EXPECT_TRUE(gpt2().decode(gpt2().encode(text)) == text) << name;
  }
  EXPECT_TRUE(gpt2().decode(gpt2().encode(embedded_corpus())) == embedded_corpus());
}

TEST(Gpt2Tokenizer, DecodesAnyBytesThatItEncodes) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 200, '\0');
    for (char& c : text) c = static_cast<char>(random());
    ASSERT_EQ(gpt2().decode(gpt2().encode(text)), text) << "round " << round;
  }
}

TEST(Gpt2Tokenizer, EncodesBrokenUtf8AsWordsOfItsOwn) {
  const auto with = [](std::string_view bytes) {
    auto tokens = gpt2().encode("a");
    for (const auto& part : {gpt2().encode(bytes), gpt2().encode("b")}) {
      tokens.insert(tokens.end(), part.begin(), part.end());
    }
    return tokens;
  };
  EXPECT_EQ(gpt2().encode("a\xff\x80"
                          "b"),
            with("\xff\x80"));
  EXPECT_EQ(gpt2().encode("a\xe2\x82"
                          "b"),
            with("\xe2\x82"));
}

TEST(Gpt2Tokenizer, GivesTheSameTokensToManyThreads) {
  const std::string_view text = embedded_corpus().substr(0, 100'000);
  const auto expected = gpt2().encode(text);
  std::vector<std::vector<std::int64_t>> seen(4);
  std::vector<std::thread> threads;
  for (auto& each : seen) threads.emplace_back([&] { each = gpt2().encode(text); });
  for (auto& thread : threads) thread.join();
  for (const auto& each : seen) EXPECT_EQ(each, expected);
}

TEST(Gpt2Tokenizer, RefusesTokensThatAreNone) {
  for (const std::int64_t token : {-1L, 50'257L}) {
    EXPECT_EQ(error_of([&] { (void)gpt2().decode(std::array{token}); }),
              "a token of this tokenizer is from 0 to 50256, got " + std::to_string(token));
  }
}

TEST(BpeTokenizer, IsTheSameFromEitherKindOfFiles) {
  EXPECT_EQ(tokenizer_from(sheaf::testing::gpt2_json(SHEAF_GPT2)).hash(), gpt2().hash());
}

TEST(BpeTokenizer, HasAnotherHashWhereItEncodesOtherwise) {
  json file = sheaf::testing::byte_fallback_json();
  const auto first = tokenizer_from(file).hash();
  std::swap(file["model"]["merges"][0], file["model"]["merges"][3]);
  const auto second = tokenizer_from(file).hash();
  sheaf::testing::add_token(file, "<more>", {"special"});
  EXPECT_NE(first, second);
  EXPECT_NE(second, tokenizer_from(file).hash());
}

TEST(BpeTokenizer, FallsBackToBytes) {
  const auto tokenizer = tokenizer_from(sheaf::testing::byte_fallback_json());
  const auto byte = [&](const char* name) { return *tokenizer.find(name); };
  EXPECT_THAT(tokenizer.encode("the\u00e9"),
              ElementsAre(*tokenizer.find("\u2581the"), byte("<0xC3>"), byte("<0xA9>")));
  for (const std::string text : {"the cat", " two  spaces", "\u4f60\n", "\xff"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(BpeTokenizer, TakesWholeWordsWhereTheFileSaysSo) {
  json file = sheaf::testing::llama3_like_json(SHEAF_GPT2);
  file["model"]["merges"] = json::array();
  const auto tokenizer = tokenizer_from(file);
  EXPECT_THAT(tokenizer.encode(" world"), ElementsAre(995));
  EXPECT_GT(tokenizer.encode(" worldwideweb").size(), 10U);
}

TEST(BpeTokenizer, AddsWhatTheFileWantsAroundATextOnlyWhenAsked) {
  const auto tokenizer = tokenizer_from(sheaf::testing::llama3_like_json(SHEAF_GPT2));
  EXPECT_THAT(tokenizer.encode("Hello"), ElementsAre(15496));
  EXPECT_THAT(tokenizer.complete({15496}), ElementsAre(50257, 15496));
}

TEST(BpeTokenizer, SaysWhichBytesHaveNoToken) {
  json file = sheaf::testing::byte_fallback_json();
  file["model"]["byte_fallback"] = false;
  file["model"]["unk_token"] = nullptr;
  const auto tokenizer = tokenizer_from(file);
  EXPECT_THAT(error_of([&] { (void)tokenizer.encode("a\u00e9"); }), HasSubstr("bytes C3 A9"));
}

TEST(BpeTokenizer, PutsTheUnknownTokenInPlaceOfOthers) {
  json file = sheaf::testing::byte_fallback_json();
  file["model"]["byte_fallback"] = false;
  file["normalizer"] = nullptr;
  const auto unknown = *tokenizer_from(file).find("<unk>");
  const auto letter = *tokenizer_from(file).find("a");
  EXPECT_THAT(tokenizer_from(file).encode("\u00e9\u00e9a"), ElementsAre(unknown, letter));
  file["model"]["fuse_unk"] = false;
  EXPECT_THAT(tokenizer_from(file).encode("\u00e9\u00e9a"), ElementsAre(unknown, unknown, letter));
}

}  // namespace
}  // namespace sheaf::data::bpe
