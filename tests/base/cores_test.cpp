#include "base/cores.h"

#include <gtest/gtest.h>

#include <thread>

namespace sheaf {
namespace {

TEST(UsableCores, AreAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(UsableCores, ReadTheQuotaOfAControlGroup) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("10000 100000\n"), 1);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);
}

}  // namespace
}  // namespace sheaf
