#include "sheaf/data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::HasSubstr;

std::vector<std::int64_t> epoch_of(const Order& order, std::int64_t epoch) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < order.size(); ++i) samples.push_back(order.at(epoch, i));
  return samples;
}

class OrderOfSize : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes,
                         OrderOfSize,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 16, 17, 1000, 1'000'001));

TEST_P(OrderOfSize, HasEverySampleOnce) {
  const Order order(GetParam(), 42, true);
  std::vector<bool> seen(static_cast<std::size_t>(order.size()));
  for (const auto sample : epoch_of(order, 3)) {
    ASSERT_GE(sample, 0);
    ASSERT_LT(sample, order.size());
    ASSERT_FALSE(seen[static_cast<std::size_t>(sample)]) << sample;
    seen[static_cast<std::size_t>(sample)] = true;
  }
}

TEST(Order, IsAnotherOneInEachEpochAndForEachSeed) {
  const Order order(1000, 1, true);
  EXPECT_EQ(epoch_of(order, 0), epoch_of(Order(1000, 1, true), 0));
  EXPECT_NE(epoch_of(order, 0), epoch_of(order, 1));
  EXPECT_NE(epoch_of(order, 0), epoch_of(Order(1000, 2, true), 0));
}

TEST(Order, StaysWhatItIs) {
  // A run that is resumed by a later version must see the same samples.
  EXPECT_THAT(epoch_of(Order(8, 7, true), 0), ::testing::ElementsAre(3, 7, 1, 5, 4, 0, 6, 2));
}

TEST(Order, SeparatesNeighbours) {
  const Order order(100'000, 5, true);
  int close = 0;
  for (std::int64_t i = 0; i + 1 < order.size(); ++i) {
    if (std::abs(order.at(0, i) - order.at(0, i + 1)) <= 10) ++close;
  }
  // By chance 20 of 100,000 distances are that short: 10 on each side.
  EXPECT_LT(close, 50);
}

TEST(Order, DoesNotTellEpochsBySmallShifts) {
  const Order order(10'000, 5, true);
  int same = 0;
  for (std::int64_t i = 0; i < order.size(); ++i) {
    if (order.at(0, i) == order.at(1, i)) ++same;
  }
  EXPECT_LT(same, 10);  // one is expected by chance
}

TEST(Order, PutsEachSampleEverywhereEquallyOften) {
  constexpr int kSize = 5;
  constexpr int kEpochs = 5000;
  const Order order(kSize, 11, true);
  std::vector<int> seen(kSize * kSize);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (int i = 0; i < kSize; ++i)
      ++seen[static_cast<std::size_t>(i * kSize + order.at(epoch, i))];
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 145);  // five standard deviations
}

TEST(Order, LeavesSamplesInPlaceWithoutShuffle) {
  std::vector<std::int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(epoch_of(Order(10, 42, false), 5), expected);
}

TEST(OrderOfParts, HasEverySampleOnceInAnEpochWithoutWeights) {
  const std::vector<DataPart> parts{{.size = 3, .weight = 3}, {.size = 100, .weight = 100}};
  for (const bool shuffle : {false, true}) {
    const Order order(parts, 42, shuffle);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      auto samples = epoch_of(order, epoch);
      std::sort(samples.begin(), samples.end());
      for (std::int64_t i = 0; i < 103; ++i) EXPECT_EQ(samples[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST(OrderOfParts, GoesThroughEachInOrderWithoutShuffle) {
  const Order order(
      std::vector<DataPart>{{.size = 2, .weight = 1}, {.size = 6, .weight = 1}}, 42, false);
  EXPECT_THAT(epoch_of(order, 0), ::testing::ElementsAre(0, 2, 1, 3, 0, 4, 1, 5));
  EXPECT_THAT(epoch_of(order, 1), ::testing::ElementsAre(0, 6, 1, 7, 0, 2, 1, 3));
}

TEST(OrderOfParts, ShufflesPartsOfTheSameSizeDifferently) {
  const Order order(std::vector<DataPart>{{.size = 50}, {.size = 50}}, 42, true);
  std::vector<std::int64_t> first, second;
  for (const auto sample : epoch_of(order, 0)) {
    (sample < 50 ? first : second).push_back(sample % 50);
  }
  EXPECT_NE(first, second);
}

TEST(OrderOfParts, RefusesPartsAndWeightsThatCannotBe) {
  using Parts = std::vector<DataPart>;
  EXPECT_EQ(error_of([] {
              Order(Parts{{.size = 4}, {.size = 0}}, 1, true);
            }),
            "an order needs at least 1 sample, got 0");
  EXPECT_THAT(error_of([] { Order(Parts{{.size = 4, .weight = -1}}, 1, true); }),
              HasSubstr("a weight must be a finite number and at least 0, got -1"));
}

TEST(Order, RefusesWhatIsNoPlace) {
  EXPECT_EQ(error_of([] { Order(0, 1, true); }), "an order needs at least 1 sample, got 0");
  const Order order(10, 1, true);
  EXPECT_THAT(error_of([&] { (void)order.at(0, 10); }), HasSubstr("places 0 to 9, got place 10"));
  EXPECT_THAT(error_of([&] { (void)order.at(0, -1); }), HasSubstr("got place -1"));
  EXPECT_THAT(error_of([&] { (void)order.at(-1, 0); }), HasSubstr("of epoch -1"));
}

TEST(ShareOf, GivesTheFirstRanksOneMore) {
  EXPECT_EQ(share_of(8, 1, 4), (Share{2, 2}));
  EXPECT_EQ(share_of(7, 0, 3), (Share{0, 3}));
  EXPECT_EQ(share_of(7, 1, 3), (Share{3, 2}));
  EXPECT_EQ(share_of(7, 2, 3), (Share{5, 2}));
  EXPECT_EQ(share_of(2, 3, 4), (Share{2, 0}));
  EXPECT_EQ(share_of(0, 0, 1), (Share{0, 0}));
}

TEST(ShareOf, RefusesRanksThatAreNot) {
  EXPECT_EQ(error_of([] { (void)share_of(4, 2, 2); }),
            "no share of a batch of 4 samples for rank 2 of 2 ranks");
  EXPECT_THAT(error_of([] { (void)share_of(-1, 0, 1); }), HasSubstr("-1 samples"));
  EXPECT_THAT(error_of([] { (void)share_of(4, -1, 2); }), HasSubstr("rank -1"));
}

TEST(SampleHash, OfSharesAddsUpToThatOfTheBatch) {
  const Order order(1000, 3, true);
  std::vector<std::int64_t> batch;
  for (std::int64_t i = 0; i < 11; ++i) batch.push_back(order.at(2, i));
  for (const int ranks : {1, 2, 3, 4, 16}) {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Share share = share_of(11, rank, ranks);
      sum += sample_hash(std::span(batch).subspan(static_cast<std::size_t>(share.first),
                                                  static_cast<std::size_t>(share.count)),
                         share.first);
    }
    EXPECT_EQ(sum, sample_hash(batch, 0)) << ranks << " ranks";
  }
}

TEST(SampleHash, KnowsTheOrderOfSamples) {
  EXPECT_NE(sample_hash(std::vector<std::int64_t>{1, 2}, 0),
            sample_hash(std::vector<std::int64_t>{2, 1}, 0));
  EXPECT_NE(sample_hash(std::vector<std::int64_t>{5}, 0),
            sample_hash(std::vector<std::int64_t>{5}, 1));
}

}  // namespace
}  // namespace sheaf::data
