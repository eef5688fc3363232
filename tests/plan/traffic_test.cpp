#include "sheaf/plan/traffic.h"

#include <gtest/gtest.h>

#include "plan/sample_models.h"

namespace sheaf::plan {
namespace {

using testing::gpt2_large;
using testing::small_gpt2;

double times_parameters(const std::vector<Exchange>& exchanges, Collective collective) {
  std::int64_t bytes = 0;
  for (const Exchange& exchange : exchanges) {
    if (exchange.collective == collective) bytes += exchange.bytes.count;
  }
  return static_cast<double>(bytes) / (4.0 * static_cast<double>(num_parameters(gpt2_large())));
}

TEST(Traffic, IsThatOfTheTable) {
  const auto of = [](const Setting& setting) { return traffic_of(gpt2_large(), setting); };
  EXPECT_NEAR(
      times_parameters(of({.stage = Stage::ddp, .shard = 4}), Collective::all_reduce), 1, 1e-3);
  for (const Stage stage : {Stage::zero1, Stage::zero2}) {
    const auto exchanges = of({.stage = stage, .shard = 4});
    EXPECT_NEAR(times_parameters(exchanges, Collective::reduce_scatter), 1, 1e-3);
    EXPECT_NEAR(times_parameters(exchanges, Collective::all_gather), 1, 1e-3);
  }
  const auto kept = of({.stage = Stage::zero3, .reshard_after_forward = false, .shard = 4});
  EXPECT_NEAR(times_parameters(kept, Collective::all_gather), 1, 1e-3);
  const double twice =
      times_parameters(of({.stage = Stage::zero3, .shard = 4}), Collective::all_gather);
  EXPECT_GT(twice, 1.8);  // less the root and the last block
  EXPECT_LT(twice, 2);
}

TEST(Traffic, GathersInEveryPassAndReducesOnce) {
  const Setting one{.stage = Stage::zero3, .shard = 2};
  Setting four = one;
  four.accumulation = 4;
  const auto once = traffic_of(small_gpt2(), one);
  const auto often = traffic_of(small_gpt2(), four);
  EXPECT_EQ(often[0].calls, 4 * once[0].calls);
  EXPECT_EQ(often[1].calls, once[1].calls);
}

TEST(Traffic, OfCopiesIsTheShardBetweenThem) {
  const auto exchanges =
      traffic_of(small_gpt2(), {.stage = Stage::zero3, .shard = 4, .replicate = 2});
  ASSERT_EQ(exchanges.size(), 3U);
  EXPECT_EQ(exchanges[2].ranks, 2);
  EXPECT_EQ(4 * exchanges[2].bytes.count, exchanges[1].bytes.count);
}

TEST(Traffic, RoundARingIsTwiceForAnAllReduce) {
  const Exchange reduce{Collective::all_reduce, 1, {800}, 4};
  const Exchange gather{Collective::all_gather, 1, {800}, 4};
  EXPECT_EQ(sent_per_rank({reduce}), Bytes{1200});
  EXPECT_EQ(sent_per_rank({gather}), Bytes{600});
  EXPECT_EQ(sent_per_rank({{Collective::all_reduce, 1, {800}, 1}}), Bytes{0});
}

}  // namespace
}  // namespace sheaf::plan
