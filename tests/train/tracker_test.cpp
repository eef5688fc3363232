#include "sheaf/train/tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sheaf::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RunInfo info_of(std::int64_t steps) {
  return {.flops_per_item = 1e6,
          .ranks = 2,
          .devices = 2,
          .steps = steps,
          .peak_flops_per_device = 250e6};
}

StepRecord step_of(Seconds time, std::int64_t items = 100) {
  return {.items = items, .time = time, .phases = {.forward = time}};
}

Tracker tracked(const RunInfo& info, std::initializer_list<double> times) {
  Tracker tracker(info, {.warm_up = 2, .price_per_hour = 36});
  for (const double time : times) tracker.add(step_of(Seconds(time)));
  return tracker;
}

TEST(Tracker, LeavesTheWarmUpOutOfSpeeds) {
  // Two slow steps, then 300 tokens in 1.5 s.
  const auto progress = tracked(info_of(100), {8, 8, 0.5, 0.25, 0.75}).progress();
  EXPECT_EQ(progress.counted_steps, 3);
  EXPECT_DOUBLE_EQ(progress.items_per_second, 200);
  EXPECT_DOUBLE_EQ(progress.items_per_second_per_device, 100);
  EXPECT_DOUBLE_EQ(progress.steps_per_second, 2);
}

TEST(Tracker, ComparesWithThePeakOfAllDevices) {
  const auto progress = tracked(info_of(100), {8, 8, 0.5, 0.5}).progress();
  EXPECT_DOUBLE_EQ(progress.achieved_flops, 200e6);
  EXPECT_DOUBLE_EQ(progress.peak_flops, 500e6);
  EXPECT_DOUBLE_EQ(progress.mfu.value(), 0.4);
}

TEST(Tracker, TakesAGpuThatRanksShareForOne) {
  RunInfo info = info_of(100);
  info.devices = 1;
  const auto progress = tracked(info, {8, 8, 0.5, 0.5}).progress();
  EXPECT_DOUBLE_EQ(progress.items_per_second_per_device, 200);
  EXPECT_DOUBLE_EQ(progress.mfu.value(), 0.8);
  EXPECT_DOUBLE_EQ(progress.cost.value(), 17 * 36 / 3600.0);
}

TEST(Tracker, HasNoMfuWithoutAPeak) {
  RunInfo info = info_of(100);
  info.peak_flops_per_device = 0;
  EXPECT_FALSE(tracked(info, {1, 1, 1}).progress().mfu.has_value());
}

TEST(Tracker, CountsTheWarmUpAsElapsedAndPaid) {
  const auto progress = tracked(info_of(100), {8, 8, 2}).progress();
  EXPECT_EQ(progress.elapsed, Seconds(18));
  // 18 s are 0.005 h, of two devices at 36 each.
  EXPECT_DOUBLE_EQ(progress.cost.value(), 0.36);
}

TEST(Tracker, KnowsNoCostWithoutAPrice) {
  Tracker tracker(info_of(10), {});
  tracker.add(step_of(Seconds(1)));
  EXPECT_FALSE(tracker.progress().cost.has_value());
}

TEST(Tracker, CountsPausesAsElapsedButNotInSpeeds) {
  Tracker tracker = tracked(info_of(100), {8, 8, 0.5});
  tracker.add_pause(Seconds(100));
  EXPECT_EQ(tracker.progress().elapsed, Seconds(116.5));
  EXPECT_DOUBLE_EQ(tracker.progress().items_per_second, 200);
  EXPECT_EQ(tracker.progress().remaining, Seconds(97 * 0.5));
}

TEST(Tracker, ExpectsTheMeanStepForWhatIsLeft) {
  EXPECT_EQ(tracked(info_of(10), {8, 8, 1, 3}).progress().remaining, Seconds(6 * 2));
  EXPECT_EQ(tracked(info_of(4), {8, 8, 1, 3}).progress().remaining, Seconds(0));
}

TEST(Tracker, ExpectsOnlyTheStepsAfterTheFirstOfAResumedRun) {
  RunInfo info = info_of(110);
  info.first_step = 100;
  EXPECT_EQ(tracked(info, {8, 8, 1, 3}).progress().remaining, Seconds(6 * 2));
}

TEST(Tracker, ShrinksTheWarmUpOfAShortRun) {
  // Of three steps one is warm-up; of one step none is.
  EXPECT_EQ(tracked(info_of(3), {8, 1, 1}).progress().counted_steps, 2);
  EXPECT_DOUBLE_EQ(tracked(info_of(3), {8, 1, 1}).progress().steps_per_second, 1);
  EXPECT_DOUBLE_EQ(tracked(info_of(1), {8}).progress().steps_per_second, 1.0 / 8);
}

TEST(Tracker, ShrinksTheWarmUpByTheStepsOfThisRun) {
  RunInfo info = info_of(103);
  info.first_step = 100;
  EXPECT_EQ(tracked(info, {8, 1, 1}).progress().counted_steps, 2);
}

TEST(Tracker, CountsAllStepsUntilTheWarmUpIsOver) {
  const Tracker tracker = tracked(info_of(100), {8, 2});
  EXPECT_EQ(tracker.progress().counted_steps, 2);
  EXPECT_DOUBLE_EQ(tracker.progress().items_per_second, 20);
  EXPECT_EQ(tracker.progress().remaining, Seconds(98 * 5));
  EXPECT_EQ(tracker.account().times.forward, Seconds(10));
}

TEST(Tracker, KeepsFullWarmUpWhereTheEndIsUnknown) {
  const auto progress = tracked(info_of(0), {8, 8, 1}).progress();
  EXPECT_EQ(progress.counted_steps, 1);
  EXPECT_EQ(progress.remaining, Seconds(0));
}

TEST(Tracker, AddsUpPhasesAfterTheWarmUp) {
  EXPECT_EQ(tracked(info_of(100), {8, 8, 1, 2}).account().times.forward, Seconds(3));
}

TEST(Tracker, HasZerosBeforeTheFirstStepAndForStepsWithoutTime) {
  EXPECT_EQ(tracked(info_of(10), {}).progress().items_per_second, 0);
  EXPECT_EQ(tracked(info_of(10), {}).progress().mfu, 0);
  EXPECT_EQ(tracked(info_of(10), {0, 0, 0}).progress().steps_per_second, 0);
}

TEST(MfuBand, HasItsLowerEdgeInside) {
  EXPECT_EQ(mfu_band(0), "poor");
  EXPECT_EQ(mfu_band(0.2999), "poor");
  EXPECT_EQ(mfu_band(0.3), "good");
  EXPECT_EQ(mfu_band(0.4), "very good");
  EXPECT_EQ(mfu_band(0.4999), "very good");
  EXPECT_EQ(mfu_band(0.5), "excellent");
  EXPECT_EQ(mfu_band(std::numeric_limits<double>::quiet_NaN()), "poor");
}

TEST(LowMfuReason, IsEmptyUnlessItIsPoor) {
  EXPECT_EQ(low_mfu_reason(0.3, {.data_wait = Seconds(1)}), "");
}

TEST(LowMfuReason, NamesTheLargestOfThePhasesThatComputeNothing) {
  PhaseTimes phases{.data_wait = Seconds(2), .forward = Seconds(5), .optimizer = Seconds(1)};
  EXPECT_THAT(low_mfu_reason(0.1, phases), AllOf(HasSubstr("data takes 25 %"), HasSubstr("data.")));
  phases.exposed_communication = Seconds(8);
  EXPECT_THAT(low_mfu_reason(0.1, phases), HasSubstr("other ranks takes 50 %"));
  phases.optimizer = Seconds(16);
  EXPECT_THAT(low_mfu_reason(0.1, phases), HasSubstr("the optimizer takes 52 %"));
}

TEST(LowMfuReason, SuspectsSmallProductsWhereNoPhaseIsLarge) {
  const PhaseTimes phases{
      .data_wait = Seconds(0.5), .forward = Seconds(5), .optimizer = Seconds(0.5)};
  EXPECT_THAT(low_mfu_reason(0.1, phases), HasSubstr("larger batch"));
}

TEST(LowMfuReason, IsEmptyWhereNobodyKnowsWhereTheTimeWent) {
  EXPECT_EQ(low_mfu_reason(0.1, {}), "");
}

}  // namespace
}  // namespace sheaf::train
