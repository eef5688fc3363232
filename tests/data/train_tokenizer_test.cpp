#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/scratch.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using nlohmann::json;
using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Scratch;

WordCounts counts_of(std::string_view text, WordPattern pattern = WordPattern::gpt2) {
  WordCounts words(pattern);
  words.add(text);
  return words;
}

TEST(TrainTokenizer, JoinsTheMostFrequentPairFirst) {
  const json file = json::parse(train_tokenizer(counts_of("abab abab abab"), {.size = 260}));
  EXPECT_THAT(file["model"]["merges"], ElementsAre("a b", "ab ab", "\u0120 abab"));
  EXPECT_EQ(file["model"]["vocab"]["<|endoftext|>"], 0);
  EXPECT_EQ(file["model"]["vocab"].size(), 260U);
}

TEST(TrainTokenizer, StopsWhereNoPairIsFrequentEnough) {
  const json file = json::parse(train_tokenizer(counts_of("abab"), {.size = 1000}));
  EXPECT_THAT(file["model"]["merges"], ElementsAre("a b"));
}

TEST(TrainTokenizer, IsTheSameForTheSameText) {
  const auto text = embedded_corpus().substr(0, 100'000);
  WordCounts parts(WordPattern::llama3);
  parts.add(counts_of(text, WordPattern::llama3));
  const TokenizerTrainingOptions options{.size = 500, .pattern = WordPattern::llama3};
  EXPECT_EQ(train_tokenizer(counts_of(text, WordPattern::llama3), options),
            train_tokenizer(parts, options));
}

TEST(TrainTokenizer, MakesATokenizerThatShortensText) {
  const Scratch scratch;
  const auto text = embedded_corpus().substr(0, 200'000);
  const auto tokenizer = open_tokenizer(
      scratch.write("tokenizer.json",
                    train_tokenizer(counts_of(text),
                                    {.size = 1000, .special_tokens = {"<|endoftext|>", "<pad>"}})));
  EXPECT_EQ(tokenizer->vocabulary(), 1000);
  EXPECT_EQ(tokenizer->find("<pad>"), 1);
  const auto tokens = tokenizer->encode(text);
  EXPECT_LT(tokens.size(), text.size() / 2);
  EXPECT_TRUE(tokenizer->decode(tokens) == text);
  const std::string other = "caf\u00e9 \xff\x80 \u4f60\u597d";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(other)), other);
}

TEST(TrainTokenizer, EndsAsSoonAsItIsToldTo) {
  const auto words = counts_of(embedded_corpus().substr(0, 50'000));
  int looks = 0;
  TokenizerTrainingOptions options{.size = 500};
  options.should_stop = [&] { return ++looks == 20; };
  EXPECT_THAT(error_of([&] { (void)train_tokenizer(words, options); }), HasSubstr("interrupted"));
  EXPECT_EQ(looks, 20);
}

TEST(ByteTokenizerJson, MeansTheSameTokens) {
  const Scratch scratch;
  const auto tokenizer = open_tokenizer(scratch.write("tokenizer.json", byte_tokenizer_json()));
  EXPECT_EQ(tokenizer->vocabulary(), 256);
  std::string text = "caf\u00e9 \xff\x80 \u4f60\u597d<|endoftext|>";
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  EXPECT_EQ(tokenizer->encode(text), open_tokenizer("bytes")->encode(text));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(TokenizerFiles, AreThoseThatOpenTheSameTokenizer) {
  const Scratch scratch;
  const std::string other = scratch.write("other.json", byte_tokenizer_json());
  for (const std::string& path : {std::string("bytes"), std::string(SHEAF_GPT2), other}) {
    const auto files = tokenizer_files(path);
    const Scratch copy;
    for (const auto& [name, text] : files) copy.write(name, text);
    const auto again = open_tokenizer(copy.path());
    EXPECT_EQ(again->encode("Hello there"), open_tokenizer(path)->encode("Hello there")) << path;
  }
  EXPECT_EQ(tokenizer_files(SHEAF_GPT2 "/vocab.json").size(), 2U);
}

TEST(TrainTokenizer, RefusesWhatCannotBe) {
  const auto refused = [](const TokenizerTrainingOptions& options) {
    return error_of([&] { (void)train_tokenizer(counts_of("a"), options); });
  };
  EXPECT_THAT(refused({.size = 256}), HasSubstr("between 257"));
  EXPECT_THAT(refused({.size = 1LL << 40}), HasSubstr("got 1099511627776"));
  EXPECT_THAT(refused({.size = 300, .special_tokens = {"a"}}), HasSubstr("got 'a'"));
  EXPECT_THAT(refused({.size = 300, .special_tokens = {"<s>", "<s>"}}), HasSubstr("'<s>' twice"));
}

}  // namespace
}  // namespace sheaf::data
