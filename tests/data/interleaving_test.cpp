#include "sheaf/data/interleaving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using Weights = std::vector<double>;

std::vector<std::size_t> sources_of(const Interleaving& draws, std::int64_t places) {
  std::vector<std::size_t> sources;
  for (std::int64_t i = 0; i < places; ++i) sources.push_back(draws.at(i).source);
  return sources;
}

class InterleavingOf : public ::testing::TestWithParam<Weights> {};
INSTANTIATE_TEST_SUITE_P(Weights,
                         InterleavingOf,
                         ::testing::Values(Weights{1},
                                           Weights{0.5, 0.5},
                                           Weights{0.7, 0.3},
                                           Weights{1e-4, 3, 2, 1e-9},
                                           Weights{0, 2, 0, 1, 0},
                                           Weights{1e308, 1e308, 1e307},
                                           Weights{1, 1, 1, 1, 1, 1, 1}));

TEST_P(InterleavingOf, CountsTheDrawsFromEachSource) {
  const Interleaving draws(GetParam());
  std::vector<std::int64_t> drawn(GetParam().size());
  for (std::int64_t place = 0; place < 20'000; ++place) {
    const auto [source, number] = draws.at(place);
    ASSERT_LT(source, drawn.size());
    ASSERT_EQ(number, drawn[source]++) << "at " << place;
  }
}

TEST_P(InterleavingOf, GivesEachSourceItsShareAtEveryPlace) {
  const Interleaving draws(GetParam());
  const double largest = *std::max_element(GetParam().begin(), GetParam().end());
  double sum = 0;
  for (const double weight : GetParam()) sum += weight / largest;
  std::vector<std::int64_t> drawn(GetParam().size());
  for (std::int64_t place = 0; place < 20'000; ++place) {
    ++drawn[draws.at(place).source];
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const double share = GetParam()[i] / largest / sum * static_cast<double>(place + 1);
      ASSERT_NEAR(static_cast<double>(drawn[i]), share, static_cast<double>(drawn.size()))
          << "source " << i << " at " << place;
    }
  }
}

TEST(Interleaving, NeverDrawsFromASourceWithoutWeight) {
  for (const std::size_t source : sources_of(Interleaving(Weights{0, 1, 0}), 1000)) {
    EXPECT_EQ(source, 1U);
  }
}

TEST(Interleaving, StaysExactFarOut) {
  const Interleaving draws(Weights{0.3, 0.3, 0.4});
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  std::vector<std::int64_t> last(3, -1);
  for (std::int64_t place = kFar; place < kFar + 1000; ++place) {
    const auto [source, number] = draws.at(place);
    if (last[source] >= 0) EXPECT_EQ(number, last[source] + 1);
    last[source] = number;
  }
  EXPECT_NEAR(static_cast<double>(last[0]) / static_cast<double>(kFar), 0.3, 1e-9);
}

TEST(Interleaving, StaysWhatItIs) {
  // A run that is resumed by a later version must see the same samples.
  EXPECT_THAT(sources_of(Interleaving(Weights{0.5, 0.25, 0.25}), 8),
              ElementsAre(0, 1, 0, 2, 0, 1, 0, 2));
}

TEST(Interleaving, ByCountsHasEachOnceInARound) {
  const std::vector<std::int64_t> counts{7, 1, 1000, 92};
  const Interleaving draws(Weights{7, 1, 1000, 92});
  std::vector<std::int64_t> drawn(4);
  for (std::int64_t round = 1; round <= 5; ++round) {
    for (std::int64_t i = 0; i < 1100; ++i) ++drawn[draws.at((round - 1) * 1100 + i).source];
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(drawn[i], round * counts[i]);
  }
}

TEST(Interleaving, RefusesWeightsThatCannotBe) {
  const auto error_with = [](const Weights& weights) {
    return error_of([&] { const Interleaving draws(weights); });
  };
  EXPECT_EQ(error_with({1, -0.5}), "a weight must be a finite number and at least 0, got -0.5");
  EXPECT_EQ(error_with({std::numeric_limits<double>::infinity()}),
            "a weight must be a finite number and at least 0, got inf");
  EXPECT_EQ(error_with({std::nan("")}), "a weight must be a finite number and at least 0, got nan");
  EXPECT_EQ(error_with({0, 0}), "one weight at least must be above 0, got 2 without one");
  EXPECT_EQ(error_with({}), "one weight at least must be above 0, got 0 without one");
}

}  // namespace
}  // namespace sheaf::data
