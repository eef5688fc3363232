#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/options.h"
#include "sheaf/data/stories.h"
#include "sheaf/data/token_file.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::HasSubstr;
using testing::Scratch;

std::vector<std::int64_t> inputs_of(const Dataset& dataset, std::int64_t index) {
  const Rows rows = dataset.make_batch(1);
  dataset.fill(index, 0, rows);
  const auto* begin = rows.inputs.const_data_ptr<std::int64_t>();
  return {begin, begin + rows.inputs.numel()};
}

TEST(OpenData, OpensTheEmbeddedText) {
  const Data data = open({}, {.context = 64});
  EXPECT_EQ(data.info.vocabulary, 256);
  EXPECT_EQ(data.info.description,
            "embedded text (tinyshakespeare), 1115394 tokens: 15685 samples of 64 tokens for "
            "training (14 tokens left out), 1742 for evaluation (50 tokens left out)");
  EXPECT_EQ(data.training->size(), 15'685);
  EXPECT_EQ(data.evaluation->size(), 1742);
  EXPECT_EQ(data.tokenizer->decode(inputs_of(*data.training, 0)).substr(0, 14), "First Citizen:");
}

TEST(OpenData, KeepsNothingApartWithoutAnEvaluationPart) {
  const Data data = open({.evaluation_part = 0}, {.context = 65'611});
  EXPECT_EQ(data.evaluation, nullptr);
  EXPECT_EQ(data.info.description,
            "embedded text (tinyshakespeare), 1115394 tokens: 17 samples of 65611 tokens for "
            "training (6 tokens left out)");
}

TEST(OpenData, RefusesSizesThatNobodyCanMean) {
  for (const std::int64_t size : {std::int64_t{0}, kMostTokens + 1}) {
    EXPECT_THAT(
        error_of([&] { (void)open({.source = Source::random, .size = size}, {.context = 4}); }),
        HasSubstr("data.size must be between 1 and 1125899906842624"));
  }
  EXPECT_THAT(error_of([] {
                (void)open({.source = Source::stories, .size = kMostTokens}, {.context = 4});
              }),
              HasSubstr("data.size of stories must be at most 17179869184"));
}

TEST(OpenData, MakesRandomTokensOfAnySize) {
  const Data data = open({.source = Source::random, .size = kMostTokens},
                         {.context = 1024, .vocabulary = 50'257, .seed = 3});
  EXPECT_EQ(data.info.vocabulary, 50'257);
  EXPECT_EQ(data.tokenizer, nullptr);
  EXPECT_GT(data.training->size(), std::int64_t{1} << 39);
  EXPECT_NE(inputs_of(*data.training, 0), inputs_of(*data.training, data.training->size() - 1));
}

TEST(OpenData, MakesStories) {
  const Data data = open({.source = Source::stories, .size = 5000}, {.context = 100, .seed = 8});
  EXPECT_EQ(data.tokenizer->decode(inputs_of(*data.training, 2)), stories(8, 300).substr(200));
  EXPECT_EQ(data.training->size(), 44);
  EXPECT_EQ(data.evaluation->size(), 4);
}

TEST(OpenData, ReadsTokenFiles) {
  const Scratch scratch;
  for (const std::uint64_t hash : {ByteTokenizer().hash(), std::uint64_t{1}}) {
    TokenFileWriter writer(scratch.path("a.tok"), {.vocabulary = 256, .tokenizer_hash = hash});
    writer.add_document(ByteTokenizer().encode("0123456789abcdefghij"));
    writer.finish();
    const Data data =
        open({.source = Source::tokens, .path = scratch.path("a.tok"), .evaluation_part = 0.5},
             {.context = 4});
    EXPECT_EQ(data.info.vocabulary, 256);
    EXPECT_EQ(ByteTokenizer().decode(inputs_of(*data.training, 1)), "4567");
    EXPECT_EQ(ByteTokenizer().decode(inputs_of(*data.evaluation, 0)), "abcd");
    EXPECT_EQ(data.tokenizer != nullptr, hash != 1);
  }
}

TEST(OpenData, ReadsFoldersOfTokenFiles) {
  const Scratch scratch;
  for (const char* name : {"a.tok", "b.tok"}) {
    TokenFileWriter writer(scratch.path(name), {.vocabulary = 256, .tokenizer_hash = 1});
    writer.add_document(ByteTokenizer().encode("0123456789"));
    writer.finish();
  }
  const Data data = open({.source = Source::tokens, .path = scratch.path(), .evaluation_part = 0},
                         {.context = 4});
  EXPECT_EQ(data.info.description,
            "2 token files in " + scratch.path() +
                ", 20 tokens: 4 samples of 4 tokens for training (3 tokens left out)");
  EXPECT_EQ(ByteTokenizer().decode(inputs_of(*data.training, 2)), "8901");
}

/// Returns the path of a small tokenizer that was learned from the embedded text.
std::string learned_tokenizer(const Scratch& scratch) {
  WordCounts words(WordPattern::gpt2);
  words.add(embedded_corpus().substr(0, 50'000));
  return scratch.write("tokenizer.json", train_tokenizer(words, {.size = 400}));
}

TEST(OpenData, EncodesTextWithATokenizer) {
  const Scratch scratch;
  const auto path = learned_tokenizer(scratch);
  for (const Source source : {Source::embedded, Source::stories}) {
    const Data data = open({.source = source, .tokenizer = path, .size = 5000}, {.context = 8});
    EXPECT_EQ(data.info.vocabulary, 400);
    EXPECT_EQ(data.tokenizer->name(), "bpe-400");
    const auto text = data.tokenizer->decode(inputs_of(*data.training, 0));
    EXPECT_TRUE((source == Source::embedded ? std::string(embedded_corpus()) : stories(0, 5000))
                    .starts_with(text));
  }
}

TEST(OpenData, TakesOnlyTheTokenizerThatMadeTheTokens) {
  const Scratch scratch;
  const auto path = learned_tokenizer(scratch);
  const auto tokenizer = open_tokenizer(path);
  TokenFileWriter writer(scratch.path("a.tok"),
                         {.vocabulary = 400, .tokenizer_hash = tokenizer->hash()});
  writer.add_document(tokenizer->encode("First Citizen: Before we proceed any further"));
  writer.finish();
  DataOptions options{.source = Source::tokens,
                      .path = scratch.path("a.tok"),
                      .tokenizer = path,
                      .evaluation_part = 0};
  const Data data = open(options, {.context = 4});
  EXPECT_EQ(data.tokenizer->decode(inputs_of(*data.training, 0)).substr(0, 5), "First");
  options.tokenizer = "bytes";
  EXPECT_THAT(error_of([&] { (void)open(options, {.context = 4}); }),
              HasSubstr("data.tokenizer is not what made data.path"));
}

TEST(OpenData, RefusesATokenizerThatIsNotNeededOrNotThere) {
  EXPECT_THAT(error_of([] {
                (void)open({.source = Source::random, .tokenizer = "bytes"}, {.context = 4});
              }),
              HasSubstr("data.tokenizer has nothing to do with data.source random"));
  EXPECT_THAT(error_of([] { (void)open({.tokenizer = "/none"}, {.context = 4}); }),
              HasSubstr("data.tokenizer: tokenizer /none: there is no file"));
}

TEST(OpenData, ReadsDigits) {
  const Scratch scratch;
  testing::write_digits(scratch);
  const Data data = open({.source = Source::mnist, .path = scratch.path()}, {});
  EXPECT_EQ(data.training->size(), 12);
  EXPECT_EQ(data.evaluation->size(), 10);
  EXPECT_EQ(data.info.vocabulary, 10);
  EXPECT_EQ(data.info.description,
            "digits in " + scratch.path() + ": 12 images for training, 10 for evaluation");
  EXPECT_EQ(data.tokenizer, nullptr);
}

}  // namespace
}  // namespace sheaf::data
