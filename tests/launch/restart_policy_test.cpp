#include "launch/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;

Failure death_of(int slot) { return {.code = 137, .node = 0, .slot = slot}; }

TEST(RestartPolicy, RestartsAsOftenAsItMay) {
  RestartPolicy policy({.max_restarts = 2});
  EXPECT_EQ(policy.after(death_of(0), 10), std::nullopt);
  EXPECT_EQ(policy.after(death_of(1), 20), std::nullopt);
  const auto end = policy.after(death_of(0), 30);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 137);
  EXPECT_THAT(end->sentence, HasSubstr("after 2 restarts"));
}

TEST(RestartPolicy, LeavesTheLastWordToTheFailureWithoutRestarts) {
  RestartPolicy policy({.max_restarts = 0});
  const auto end = policy.after(death_of(0), 10);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->sentence, "");
}

TEST(RestartPolicy, NeverRepeatsWrongUsageOrARequeue) {
  for (const int code : {2, kRequeueCode}) {
    RestartPolicy policy({.max_restarts = 5});
    const auto end = policy.after({.code = code}, 10);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->code, code);
  }
}

TEST(RestartPolicy, GivesUpWhereNothingMoves) {
  RestartPolicy policy({.max_restarts = 100, .max_fruitless = 3});
  EXPECT_EQ(policy.after(death_of(0), 17), std::nullopt);
  EXPECT_EQ(policy.after(death_of(1), 15), std::nullopt);
  const auto end = policy.after(death_of(2), 17);
  ASSERT_TRUE(end.has_value());
  EXPECT_THAT(end->sentence, HasSubstr("3 times in a row without getting past step 17"));
}

TEST(RestartPolicy, ForgetsWhatANewStepMakesGood) {
  RestartPolicy policy({.max_restarts = 100, .max_fruitless = 3});
  for (const int step : {17, 16, 18, 18, 19, 10}) {
    EXPECT_EQ(policy.after(death_of(0), step), std::nullopt) << step;
  }
}

TEST(RestartPolicy, CountsOnlyRestartsOfProgramsThatDoNotTellTheirSteps) {
  RestartPolicy policy({.max_restarts = 5, .max_fruitless = 2});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(policy.after(death_of(0), -1), std::nullopt);
  EXPECT_TRUE(policy.after(death_of(0), -1).has_value());
}

TEST(RestartPolicy, KnowsASlotThatDiesAgainWithoutAStep) {
  RestartPolicy policy({.max_restarts = 100, .max_fruitless = 0});
  EXPECT_EQ(policy.after(death_of(2), 5), std::nullopt);
  EXPECT_FALSE(policy.slot_is_bad());
  EXPECT_EQ(policy.after(death_of(2), 6), std::nullopt);
  EXPECT_FALSE(policy.slot_is_bad()) << "there was a step in between";
  EXPECT_EQ(policy.after(death_of(1), 6), std::nullopt);
  EXPECT_FALSE(policy.slot_is_bad()) << "it was another slot";
  EXPECT_EQ(policy.after(death_of(1), 6), std::nullopt);
  EXPECT_TRUE(policy.slot_is_bad());
}

}  // namespace
}  // namespace sheaf::launch
