#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using testing::IsEmpty;
using testing::Not;

class WeightsCheck : public testing::TestWithParam<const char*> {};

/// A short run on three ranks that are threads.
Summary end_of(const std::string& stage, int wrong_rank) {
  RunOptions options = small_run();
  options.shard.stage = stage;
  options.batch.global = 6;
  options.train.evaluate = false;
  options.train.compare_weights = true;
  if (wrong_rank >= 0) {
    options.fault.inject = {
        fmt::format("negate_gradients:rank={}:step=1:steps={}", wrong_rank, options.train.steps)};
  }
  return record_run(options, 3)->ended.at(0);
}

TEST_P(WeightsCheck, FindsAllRanksAlike) {
  const auto odd = end_of(GetParam(), -1).odd_weights;
  ASSERT_TRUE(odd.has_value());
  EXPECT_THAT(*odd, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Stages,
                         WeightsCheck,
                         testing::Values("ddp", "ddp:flat", "zero1", "zero2", "zero3"));

TEST(WeightsCheck, NamesTheRankThatDiffers) {
  const auto odd = end_of("ddp", 2).odd_weights;
  ASSERT_TRUE(odd.has_value());
  ASSERT_THAT(*odd, Not(IsEmpty()));
  for (const OddWeights& each : *odd) {
    EXPECT_EQ(each.rank, 2);
    EXPECT_THAT(each.unit, Not(IsEmpty()));
  }
}

TEST(WeightsCheck, IsLeftOutUnlessAskedFor) {
  RunOptions options = small_run();
  options.train.steps = 1;
  EXPECT_FALSE(record_run(options, 1)->ended.at(0).odd_weights.has_value());
}

}  // namespace
}  // namespace sheaf::train
