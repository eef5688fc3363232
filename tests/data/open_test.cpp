#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/options.h"
#include "sheaf/data/stories.h"
#include "sheaf/data/token_file.h"

namespace sheaf::data {
namespace {

using testing::Scratch;

std::vector<std::int64_t> inputs_of(const Dataset& dataset, std::int64_t index) {
  auto [inputs, targets] = dataset.make_batch(1);
  dataset.fill(index, 0, inputs, targets);
  const auto* begin = inputs.const_data_ptr<std::int64_t>();
  return {begin, begin + inputs.numel()};
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

TEST(OpenData, MakesRandomTokensOfAnySize) {
  const Data data = open({.source = Source::random, .size = std::int64_t{1} << 50},
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

TEST(OpenData, ReadsDigits) {
  const Scratch scratch;
  testing::write_digits(scratch);
  const Data data = open({.source = Source::mnist, .path = scratch.folder()}, {});
  EXPECT_EQ(data.training->size(), 12);
  EXPECT_EQ(data.evaluation->size(), 10);
  EXPECT_EQ(data.info.vocabulary, 10);
  EXPECT_EQ(data.info.description,
            "digits in " + scratch.folder() + ": 12 images for training, 10 for evaluation");
  EXPECT_EQ(data.tokenizer, nullptr);
}

}  // namespace
}  // namespace sheaf::data
