#include "sheaf/optim/schedule.h"

#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;

constexpr ScheduleOptions kLinear{
    .kind = ScheduleKind::linear, .warmup_steps = 10, .total_steps = 110, .final_factor = 0.2};
constexpr ScheduleOptions kCosine{
    .kind = ScheduleKind::cosine, .warmup_steps = 10, .total_steps = 110, .final_factor = 0.2};
constexpr ScheduleOptions kStable{.kind = ScheduleKind::warmup_stable_decay,
                                  .warmup_steps = 10,
                                  .total_steps = 110,
                                  .final_factor = 0.2,
                                  .decay_steps = 40};

TEST(Schedule, IsOneByDefault) {
  EXPECT_EQ(learning_rate_factor({}, 0), 1);
  EXPECT_EQ(learning_rate_factor({}, 1'000'000), 1);
}

TEST(Schedule, WarmsUpFromTheFirstStepOn) {
  for (const ScheduleOptions& options :
       {ScheduleOptions{.warmup_steps = 10}, kLinear, kCosine, kStable}) {
    EXPECT_EQ(learning_rate_factor(options, 0), 0.1);
    EXPECT_EQ(learning_rate_factor(options, 4), 0.5);
    EXPECT_EQ(learning_rate_factor(options, 9), 1);
    EXPECT_EQ(learning_rate_factor(options, 10), 1);
  }
}

TEST(Schedule, FallsInAStraightLine) {
  EXPECT_DOUBLE_EQ(learning_rate_factor(kLinear, 11), 0.992);
  EXPECT_DOUBLE_EQ(learning_rate_factor(kLinear, 60), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate_factor(kLinear, 109), 0.208);
}

TEST(Schedule, FallsAlongACosine) {
  EXPECT_GT(learning_rate_factor(kCosine, 11), 0.999);
  EXPECT_DOUBLE_EQ(learning_rate_factor(kCosine, 60), 0.6);
  EXPECT_LT(learning_rate_factor(kCosine, 109), 0.201);
  EXPECT_GT(learning_rate_factor(kCosine, 109), 0.2);
}

TEST(Schedule, StaysAndFallsInTheLastSteps) {
  EXPECT_EQ(learning_rate_factor(kStable, 50), 1);
  EXPECT_EQ(learning_rate_factor(kStable, 70), 1);
  EXPECT_DOUBLE_EQ(learning_rate_factor(kStable, 71), 0.98);
  EXPECT_DOUBLE_EQ(learning_rate_factor(kStable, 90), 0.6);
}

TEST(Schedule, KeepsTheFinalFactorAfterTheEnd) {
  for (const ScheduleOptions& options : {kLinear, kCosine, kStable}) {
    EXPECT_EQ(learning_rate_factor(options, 110), 0.2);
    EXPECT_EQ(learning_rate_factor(options, 5000), 0.2);
  }
}

TEST(Schedule, MayWarmUpUntilTheEnd) {
  ScheduleOptions options = kLinear;
  options.warmup_steps = 110;
  EXPECT_EQ(learning_rate_factor(options, 109), 1);
  EXPECT_EQ(learning_rate_factor(options, 110), 0.2);
}

TEST(Schedule, RefusesCombinationsThatCannotBe) {
  const auto error_with = [](const ScheduleOptions& options) {
    return error_of([&] { check(options); });
  };
  EXPECT_EQ(error_with({.kind = ScheduleKind::cosine}),
            "a cosine schedule needs total_steps, got 0");
  EXPECT_EQ(error_with({.kind = ScheduleKind::linear, .warmup_steps = 6, .total_steps = 5}),
            "warmup_steps must fit in the 5 total_steps, got 6");
  EXPECT_EQ(error_with({.kind = ScheduleKind::linear, .total_steps = 5, .decay_steps = 1}),
            "a linear schedule has no decay_steps, got 1");
  EXPECT_EQ(error_with({.kind = ScheduleKind::warmup_stable_decay, .total_steps = 5}),
            "a warmup_stable_decay schedule needs decay_steps, got 0");
  EXPECT_EQ(error_with({.kind = ScheduleKind::warmup_stable_decay,
                        .warmup_steps = 3,
                        .total_steps = 5,
                        .decay_steps = 3}),
            "warmup_steps and decay_steps must fit in the 5 total_steps, got 3 and 3");
}

TEST(Schedule, RefusesNumbersThatCannotBe) {
  EXPECT_EQ(error_of([] { check({.warmup_steps = -1}); }),
            "warmup_steps of a schedule must be at least 0, got -1");
  EXPECT_EQ(error_of([] { check({.final_factor = 1.5}); }),
            "final_factor of a schedule must be between 0 and 1, got 1.5");
  EXPECT_EQ(error_of([] { (void)learning_rate_factor({}, -1); }),
            "the step of a schedule must be at least 0, got -1");
}

TEST(Schedule, DescribesItsOptions) {
  ScheduleOptions options;
  auto fields = fields_of(options);
  find_field(fields, "kind")->set("wsd");
  EXPECT_EQ(options.kind, ScheduleKind::warmup_stable_decay);
  EXPECT_EQ(find_field(fields, "kind")->literal(), "\"warmup_stable_decay\"");
}

}  // namespace
}  // namespace sheaf::optim
