#include "train/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sheaf::train {
namespace {

TEST(Figures, PutCommasBetweenThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Figures, ShowThreeDigitsOfASpeedAtLeast) {
  EXPECT_EQ(rate_text(0), "0.00");
  EXPECT_EQ(rate_text(3.217), "3.22");
  EXPECT_EQ(rate_text(9.996), "10.0");
  EXPECT_EQ(rate_text(99.96), "100");
  EXPECT_EQ(rate_text(1234567.4), "1,234,567");
  EXPECT_EQ(rate_text(INFINITY), "inf");
  EXPECT_EQ(rate_text(NAN), "nan");
}

TEST(Figures, PrefixFlops) {
  EXPECT_EQ(flops_text(0), "0.00 FLOP/s");
  EXPECT_EQ(flops_text(989e12), "989.0 TFLOP/s");
  EXPECT_EQ(flops_text(999.96e9), "1.00 TFLOP/s");
  EXPECT_EQ(flops_text(855e6, "FLOP"), "855.0 MFLOP");
  EXPECT_EQ(flops_text(2e24), "2000000.0 EFLOP/s");
}

TEST(Figures, CountThings) {
  EXPECT_EQ(count_text(1, "device"), "1 device");
  EXPECT_EQ(count_text(4000, "device"), "4,000 devices");
  EXPECT_EQ(percent_text(0.4125), "41.2 %");
}

TEST(Figures, RoundTheTimeThatIsLeft) {
  EXPECT_EQ(left_text(Seconds(0)), "0 s left");
  EXPECT_EQ(left_text(Seconds(44.6)), "45 s left");
  EXPECT_EQ(left_text(Seconds(738)), "12.3 min left");
}

}  // namespace
}  // namespace sheaf::train
