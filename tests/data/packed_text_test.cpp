#include "data/packed_text.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/byte_source.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::HasSubstr;

PackedText pack(const std::string& text, std::int64_t context) {
  const auto source = std::make_shared<ByteSource>(text);
  return {source, {0, source->size()}, context};
}

std::string text_of(const at::Tensor& tokens) {
  std::string text;
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    text.push_back(static_cast<char>(tokens.view({-1})[i].item<std::int64_t>()));
  }
  return text;
}

std::pair<at::Tensor, at::Tensor> all_of(const PackedText& text) {
  auto [inputs, targets] = text.make_batch(text.size());
  for (std::int64_t i = 0; i < text.size(); ++i) text.fill(i, i, inputs, targets);
  return {inputs, targets};
}

TEST(PackedText, ShiftsTargetsByOneToken) {
  const auto [inputs, targets] = all_of(pack("abcdefghijk", 5));
  EXPECT_EQ(text_of(inputs), "abcdefghij");
  EXPECT_EQ(text_of(targets), "bcdefghijk");
  EXPECT_EQ(inputs.sizes(), at::IntArrayRef({2, 5}));
  EXPECT_EQ(targets.scalar_type(), at::kLong);
}

TEST(PackedText, LeavesOutWhatFillsNoSample) {
  const PackedText text = pack("abcdefghij", 4);
  EXPECT_EQ(text.size(), 2);
  EXPECT_EQ(text.left_out(), 1);
  EXPECT_EQ(text_of(all_of(text).second), "bcdefghi");
  EXPECT_EQ(text.targets_per_sample(), 4);
}

TEST(PackedText, TakesATextOfExactlyOneSample) {
  EXPECT_EQ(pack("abcde", 4).size(), 1);
  EXPECT_EQ(text_of(all_of(pack("ab", 1)).second), "b");
}

TEST(PackedText, ReadsOnlyItsRange) {
  const auto source = std::make_shared<ByteSource>(std::string_view("0123456789"));
  const PackedText text(source, {5, 5}, 2);
  EXPECT_EQ(text_of(all_of(text).first), "5678");
  EXPECT_EQ(text_of(all_of(text).second), "6789");
}

TEST(SplitTokens, KeepsTheLastPartForEvaluation) {
  const auto split = split_tokens(1000, 0.1, 10);
  EXPECT_EQ(split.training.count, 900);
  EXPECT_EQ(split.evaluation.begin, 900);
  EXPECT_EQ(split.evaluation.count, 100);
}

TEST(SplitTokens, KeepsAtLeastOneSampleOrNothing) {
  EXPECT_EQ(split_tokens(1000, 0.001, 10).evaluation.count, 11);
  EXPECT_EQ(split_tokens(1000, 0, 10).evaluation.count, 0);
  EXPECT_EQ(split_tokens(11, 0, 10).training.count, 11);
  EXPECT_EQ(split_tokens(22, 0.5, 10).training.count, 11);
}

TEST(SplitTokens, RefusesTooFewTokens) {
  EXPECT_EQ(error_of([] { (void)split_tokens(10, 0, 10); }),
            "10 tokens are too few for one sample of 11 tokens: take more or a shorter context");
  EXPECT_THAT(error_of([] { (void)split_tokens(21, 0.1, 10); }),
              HasSubstr("21 tokens are too few for training and evaluation"));
  EXPECT_THAT(error_of([] { (void)split_tokens(100, 0.9, 10); }),
              HasSubstr("data.evaluation_part = 0"));
}

}  // namespace
}  // namespace sheaf::data
