#include "sheaf/plan/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sample_models.h"
#include "sheaf/base/error.h"
#include "sheaf/plan/budget.h"

namespace sheaf::plan {
namespace {

using ::testing::ElementsAre;
using testing::gpt2_large;
using ::testing::HasSubstr;
using testing::small_gpt2;
using ::testing::ThrowsMessage;

std::vector<std::string> names(const std::vector<Setting>& settings) {
  std::vector<std::string> all;
  for (const Setting& setting : settings) all.push_back(strategy_name(setting));
  return all;
}

Candidate candidate(Stage stage, std::int64_t peak, std::int64_t sent) {
  Candidate made;
  made.setting = {.stage = stage, .shard = 4};
  made.memory.peak = {peak};
  made.sent = {sent};
  return made;
}

TEST(Strategies, AreTheSimplestFirst) {
  EXPECT_THAT(names(strategies_for({}, 1, 8)), ElementsAre("ddp"));
  EXPECT_THAT(names(strategies_for({}, 8, 8)),
              ElementsAre("ddp", "zero1", "zero2", "SHARD_GRAD_OP", "zero3"));
  EXPECT_THAT(names(strategies_for({}, 16, 8)),
              ElementsAre("ddp", "zero1", "zero2", "SHARD_GRAD_OP", "zero3", "hybrid:zero3"));
}

TEST(LargestBatch, IsTheLastThatFits) {
  const Setting setting{.stage = Stage::ddp};
  const Bytes memory = mebibytes(64);
  const std::int64_t largest = largest_batch(small_gpt2(), setting, memory);
  ASSERT_GT(largest, 1);
  const auto peak = [&](std::int64_t batch) {
    Setting with = setting;
    with.micro_batch = batch;
    return predict_memory(small_gpt2(), with).peak;
  };
  EXPECT_LE(peak(largest), memory);
  EXPECT_GT(peak(largest + 1), memory);
}

TEST(LargestBatch, IsNoneWhereStatesAloneAreTooMuch) {
  EXPECT_EQ(largest_batch(gpt2_large(), {.stage = Stage::ddp}, gibibytes(8)), 0);
}

TEST(LargestBatch, EndsWhereTheSearchEnds) {
  EXPECT_EQ(largest_batch(small_gpt2(), {.stage = Stage::ddp}, gibibytes(900), 10), 10);
}

TEST(Recommend, TakesTheSimplestOfThoseThatSendLeast) {
  const auto chosen = recommend({candidate(Stage::ddp, 80, 100),
                                 candidate(Stage::zero1, 60, 100),
                                 candidate(Stage::zero3, 20, 150)},
                                {100});
  EXPECT_EQ(chosen.index, 0U);
  EXPECT_THAT(chosen.reason, HasSubstr("20 B stay free"));
}

TEST(Recommend, LeavesRoomWhereItCan) {
  const auto chosen =
      recommend({candidate(Stage::ddp, 95, 100), candidate(Stage::zero1, 60, 100)}, {100});
  EXPECT_EQ(chosen.index, 1U);
}

TEST(Recommend, TakesTheLeanestWhereAllAreTight) {
  const auto chosen =
      recommend({candidate(Stage::ddp, 99, 100), candidate(Stage::zero1, 96, 100)}, {100});
  EXPECT_EQ(chosen.index, 1U);
}

TEST(Recommend, SendsMoreOnlyIfNothingElseFits) {
  const auto chosen =
      recommend({candidate(Stage::ddp, 120, 100), candidate(Stage::zero3, 40, 150)}, {100});
  EXPECT_EQ(chosen.index, 1U);
  EXPECT_THAT(chosen.reason, HasSubstr("the only one that fits"));
}

TEST(Recommend, SaysHowMuchIsMissing) {
  const auto chosen =
      recommend({candidate(Stage::ddp, 300, 1), candidate(Stage::zero3, 150, 1)}, {100});
  EXPECT_FALSE(chosen.index.has_value());
  EXPECT_EQ(chosen.reason, "nothing fits: zero3 comes nearest and needs 50 B more");
}

TEST(Bill, IsTokensByTheRateOfAllDevices) {
  const Bill bill = bill_for({.tokens = 1e9,
                              .flops_per_token = 2e10,
                              .devices = 4,
                              .peak_flops = 1e15,
                              .mfu = 0.2,
                              .price_per_hour = 3});
  EXPECT_DOUBLE_EQ(bill.tokens_per_second, 40000);
  EXPECT_DOUBLE_EQ(bill.time.count(), 25000);
  EXPECT_NEAR(bill.cost, 25000.0 / 3600 * 4 * 3, 1e-9);
}

TEST(Bill, NeedsARate) {
  EXPECT_THAT([] { (void)bill_for({.tokens = 1, .flops_per_token = 1}); },
              ThrowsMessage<UsageError>(HasSubstr("peak of a device")));
}

}  // namespace
}  // namespace sheaf::plan
