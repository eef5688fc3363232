#include "sheaf/plan/units.h"

#include <gtest/gtest.h>

#include "plan/sample_models.h"

namespace sheaf::plan {
namespace {

using testing::gpt2_large;
using testing::small_gpt2;
using testing::small_llama;

std::size_t members_of(const std::vector<Unit>& units) {
  std::size_t members = 0;
  for (const Unit& unit : units) members += unit.parameters.size();
  return members;
}

TEST(Parameters, AreAsManyAsPublished) {
  EXPECT_EQ(num_parameters(gpt2_large()), 774030080);  // with tied embeddings
}

TEST(Units, OfZero3AreBlocksAndTheRootLast) {
  const auto parameters = parameters_of(small_llama());
  const auto units = units_of(parameters, {.stage = Stage::zero3, .shard = 2});
  ASSERT_EQ(units.size(), 5U);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(units[static_cast<std::size_t>(i)].block, i);
  EXPECT_EQ(units.back().block, kNoBlock);
  EXPECT_EQ(units.back().parameters.size(), 3U);
  EXPECT_EQ(members_of(units), parameters.size());
}

TEST(Units, ArePaddedSoThatEveryRankHasAsMuch) {
  const auto units = units_of(parameters_of(small_gpt2()), {.stage = Stage::zero3, .shard = 3});
  for (const Unit& unit : units) {
    EXPECT_EQ(unit.size, 3 * unit.shard_size);
    EXPECT_EQ(unit.shard_size % 16, 0);
  }
}

TEST(Units, OfOtherStagesBeginWithTheLastParameters) {
  const auto parameters = parameters_of(small_gpt2());
  const auto units =
      units_of(parameters,
               {.stage = Stage::zero2, .shard = 2, .buckets = {.cap = {4096}, .first_cap = {256}}});
  EXPECT_GT(units.size(), 10U);
  EXPECT_EQ(units.front().parameters.front(), parameters.size() - 1);
  EXPECT_EQ(units.back().parameters.back(), 0U);
  EXPECT_EQ(members_of(units), parameters.size());
}

TEST(Units, AreOneWhenFlat) {
  const auto units = units_of(parameters_of(small_gpt2()), {.stage = Stage::ddp, .flat = true});
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units.front().shard_size, units.front().size);
}

}  // namespace
}  // namespace sheaf::plan
