#include "sheaf/train/profile_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"

namespace sheaf::train {
namespace {

TEST(RecordedSteps, AreARangeWithBothEnds) {
  const auto range = recorded_steps({.steps = "10:13"});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 10);
  EXPECT_EQ(range->last, 13);
}

TEST(RecordedSteps, MayBeOne) {
  const auto range = recorded_steps({.steps = "7"});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 7);
  EXPECT_EQ(range->last, 7);
}

TEST(RecordedSteps, AreNoneUnlessAskedFor) { EXPECT_FALSE(recorded_steps({})); }

TEST(RecordedSteps, AreRefusedWhereTheRunIsTooShort) {
  EXPECT_THROW(check_recorded_steps({.steps = "10:13"}, 9), UsageError);
  EXPECT_NO_THROW(check_recorded_steps({.steps = "10:13"}, 10));
  EXPECT_NO_THROW(check_recorded_steps({}, 1));
}

TEST(RecordedSteps, AreRefusedWhereTheyAreNoRange) {
  for (const char* text : {":", "3:", ":3", "a:b", "0:2", "5:4", "1:2:3", "-1:2", " 1:2", "1e3"}) {
    EXPECT_THROW(static_cast<void>(recorded_steps({.steps = text})), UsageError) << text;
  }
}

}  // namespace
}  // namespace sheaf::train
