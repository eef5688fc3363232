#include "gpu_training/step_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::bench {
namespace {

// GPT-2 Large: 36 layers of width 1280, 20 heads; the vocabulary padded to 50304.
constexpr double kTokens = 8 * 1024;
constexpr double kLayers = 36;
constexpr double kWidth = 1280;
constexpr double kVocabulary = 50304;

TEST(StepWork, CountsSixFlopsForEachMultipliedWeightAndToken) {
  const StepWork work = work_of(find_row("gpt2-large-b8"));
  const double weights = kLayers * 12 * kWidth * kWidth + kVocabulary * kWidth;
  EXPECT_DOUBLE_EQ(work.product_flops(), 6 * weights * kTokens);
}

TEST(StepWork, CountsTheRuleOfMfuWithTheRealVocabulary) {
  const StepWork work = work_of(find_row("gpt2-large-b8"));
  const double parameters = 774030080;
  EXPECT_DOUBLE_EQ(work.rule_flops, (6 * parameters + 12 * kLayers * kWidth * 1024) * kTokens);
}

TEST(StepWork, MovesThirtyRowsForEachLayerAndTokenOfGpt2) {
  StepWork work = work_of(find_row("gpt2-large-b8"));
  const double row = kTokens * kWidth * 2;  // bf16
  const double last_norm = 5 * row;
  EXPECT_DOUBLE_EQ(work.bytes[KernelClass::norm] + work.bytes[KernelClass::elementwise],
                   30 * kLayers * row + last_norm);
  EXPECT_DOUBLE_EQ(work.bytes[KernelClass::loss], 8 * kTokens * kVocabulary);
}

TEST(StepWork, ChargesTheOptimizerForTheTypeOfItsState) {
  StepWork with_master = work_of(find_row("gpt2-large-b8"));
  EXPECT_DOUBLE_EQ(with_master.bytes[KernelClass::optimizer], 28.0 * 774030080);
  StepWork all_bf16 = work_of(find_row("smollm3-3b-t8192"));
  EXPECT_DOUBLE_EQ(all_bf16.bytes[KernelClass::optimizer], 14.0 * 3075098624);
}

TEST(StepWork, JoinsProductsOfTheSameInputInSmolLm3) {
  const StepWork work = work_of(find_row("smollm3-3b-t8192"));
  EXPECT_EQ(work.linears[0].outputs, (16 + 2 * 4) * 128);
  EXPECT_EQ(work.linears[2].outputs, 2 * 11008);
  EXPECT_EQ(work.linears[4].outputs, 128256);
  EXPECT_EQ(work.attention.kv_heads, 4);
}

}  // namespace
}  // namespace sheaf::bench
