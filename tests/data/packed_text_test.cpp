#include "data/packed_text.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/byte_source.h"
#include "data/listed_documents.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::HasSubstr;

PackedText pack(const std::string& text, std::int64_t context) {
  const auto source = std::make_shared<ByteSource>(text);
  return {{source}, {0, source->size()}, context};
}

/// The same with documents that begin at these tokens.
PackedText pack_documents(const std::string& text,
                          const std::vector<std::int64_t>& starts,
                          std::int64_t context) {
  const auto source = std::make_shared<ByteSource>(text);
  return {{source, std::make_shared<ListedDocuments>(starts)}, {0, source->size()}, context};
}

/// A target that does not count is a dot.
std::string text_of(const at::Tensor& tokens) {
  std::string text;
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    const auto token = tokens.view({-1})[i].item<std::int64_t>();
    text.push_back(token == kIgnoredTarget ? '.' : static_cast<char>(token));
  }
  return text;
}

std::string digits_of(const at::Tensor& positions) { return text_of(positions + '0'); }

Rows all_of(const PackedText& text) {
  const Rows rows = text.make_batch(text.size());
  for (std::int64_t i = 0; i < text.size(); ++i) text.fill(i, i, rows);
  return rows;
}

TEST(PackedText, ShiftsTargetsByOneToken) {
  const auto [inputs, targets, positions] = all_of(pack("abcdefghijk", 5));
  EXPECT_EQ(text_of(inputs), "abcdefghij");
  EXPECT_EQ(text_of(targets), "bcdefghijk");
  EXPECT_EQ(inputs.sizes(), at::IntArrayRef({2, 5}));
  EXPECT_EQ(targets.scalar_type(), at::kLong);
  EXPECT_FALSE(positions.defined());
}

TEST(PackedText, CountsPositionsFromTheBeginningOfEachDocument) {
  const auto [inputs, targets, positions] = all_of(pack_documents("abcABCDxyz", {0, 3, 7}, 9));
  EXPECT_EQ(text_of(inputs), "abcABCDxy");
  EXPECT_EQ(text_of(targets), "bc.BCD.yz");
  EXPECT_EQ(digits_of(positions), "012012301");
}

TEST(PackedText, BeginsASampleWithWhatIsLeftOfADocument) {
  const auto [inputs, targets, positions] = all_of(pack_documents("abcdefghABCD", {0, 8}, 5));
  EXPECT_EQ(text_of(inputs), "abcdefghAB");
  EXPECT_EQ(text_of(targets), "bcdefgh.BC");
  EXPECT_EQ(digits_of(positions), "0123401201");
}

TEST(PackedText, HasNoTargetBehindADocumentThatEndsWithItsSample) {
  const auto [inputs, targets, positions] = all_of(pack_documents("abcdABCDx", {0, 4, 8}, 4));
  EXPECT_EQ(text_of(targets), "bcd.BCD.");
  EXPECT_EQ(digits_of(positions), "01230123");
}

TEST(PackedText, TakesDocumentsOfOneToken) {
  const auto [inputs, targets, positions] = all_of(pack_documents("abcde", {0, 1, 2, 3, 4}, 4));
  EXPECT_EQ(text_of(targets), "....");
  EXPECT_EQ(digits_of(positions), "0000");
}

TEST(PackedText, LeavesOutWhatFillsNoSample) {
  const PackedText text = pack("abcdefghij", 4);
  EXPECT_EQ(text.size(), 2);
  EXPECT_EQ(text.left_out(), 1);
  EXPECT_EQ(text_of(all_of(text).targets), "bcdefghi");
  EXPECT_EQ(text.targets_per_sample(), 4);
}

TEST(PackedText, TakesATextOfExactlyOneSample) {
  EXPECT_EQ(pack("abcde", 4).size(), 1);
  EXPECT_EQ(text_of(all_of(pack("ab", 1)).targets), "b");
}

TEST(PackedText, ReadsOnlyItsRange) {
  const auto source = std::make_shared<ByteSource>(std::string_view("0123456789"));
  const PackedText text({source}, {5, 5}, 2);
  EXPECT_EQ(text_of(all_of(text).inputs), "5678");
  EXPECT_EQ(text_of(all_of(text).targets), "6789");
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
