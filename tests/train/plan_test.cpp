#include "sheaf/train/plan.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"

namespace sheaf::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// 100 samples of 16 targets.
class HundredTexts final : public data::Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 100; }
  [[nodiscard]] std::int64_t targets_per_sample() const override { return 16; }
  [[nodiscard]] data::Rows make_batch(std::int64_t /*count*/) const override { return {}; }
  void fill(std::int64_t /*index*/,
            std::int64_t /*row*/,
            const data::Rows& /*rows*/) const override {}
};

RunPlan plan(BatchOptions batch, TrainSection train, int ranks) {
  RunOptions options;
  options.batch = batch;
  options.train = train;
  return plan_run(options, HundredTexts(), ranks);
}

TEST(Plan, CountsStepsOfTokensAndEpochs) {
  EXPECT_EQ(plan({.global = 8}, {.steps = 5}, 2).steps, 5);
  EXPECT_EQ(plan({.global = 8}, {.tokens = 1000}, 2).steps, 8);
  EXPECT_EQ(plan({.global = 8}, {.epochs = 3}, 2).steps, 39);
}

TEST(Plan, CountsTheStepsOfBatchesThatAreTooLargeToCount) {
  EXPECT_EQ(plan({.global = std::int64_t{1} << 61}, {.tokens = kMost}, 1).steps, 1);
}

TEST(Plan, RefusesMoreStepsThanAnyRunHas) {
  EXPECT_EQ(plan({.global = 100}, {.epochs = kMost}, 1).steps, kMost);
  EXPECT_THAT([] { plan({.global = 99}, {.epochs = kMost / 2 + 1}, 1); },
              ThrowsMessage<UsageError>(HasSubstr("epochs of 2 steps")));
}

TEST(Plan, TakesSmallerBatchesOnlyAtTheEndOfEpochs) {
  EXPECT_TRUE(plan({.global = 8}, {.epochs = 1}, 2).partial_batches);
  EXPECT_FALSE(plan({.global = 8}, {.steps = 1}, 2).partial_batches);
}

TEST(Plan, AccumulatesWhatDoesNotFitIntoOnePass) {
  const RunPlan run = plan({.global = 16, .micro = 2}, {.steps = 1}, 2);
  EXPECT_EQ(run.accumulation, 4);
  EXPECT_EQ(run.micro_batch, 2);
}

TEST(Plan, ComputesAWholeShareByDefault) {
  const RunPlan run = plan({.global = 10}, {.steps = 1}, 4);
  EXPECT_EQ(run.accumulation, 1);
  EXPECT_EQ(run.micro_batch, 3);
}

TEST(Plan, RefusesABatchThatPassesCannotShare) {
  EXPECT_THAT([] { plan({.global = 16, .micro = 3}, {.steps = 1}, 2); },
              ThrowsMessage<UsageError>(HasSubstr("3 x 2 = 6, not 16")));
}

TEST(Plan, LetsAnyNumberOfRanksShareWhereThatIsAllowed) {
  const RunPlan run = plan({.global = 16, .micro = 3, .uneven = true}, {.steps = 1}, 3);
  EXPECT_EQ(run.accumulation, 2);
  EXPECT_EQ(run.micro_batch, 3);
}

TEST(Plan, RefusesNoLengthAndTwoLengths) {
  EXPECT_THAT([] { plan({}, {}, 1); }, ThrowsMessage<UsageError>(HasSubstr("no length")));
  EXPECT_THAT([] { plan({}, {.steps = 1, .epochs = 2}, 1); },
              ThrowsMessage<UsageError>(HasSubstr("1, 0 and 2")));
}

}  // namespace
}  // namespace sheaf::train
