#include "study/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::study {
namespace {

TEST(Sparkline, GoesFromLowToHigh) { EXPECT_EQ(sparkline({0, 3.5, 7}, 10, 0, 7), "▁▅█"); }

TEST(Sparkline, AveragesWhatDoesNotFit) { EXPECT_EQ(sparkline({0, 0, 7, 7}, 2, 0, 7), "▁█"); }

TEST(Sparkline, StaysLowWhereAllIsTheSame) { EXPECT_EQ(sparkline({5, 5}, 9, 5, 5), "▁▁"); }

}  // namespace
}  // namespace sheaf::study
