#include "sheaf/profile/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace sheaf::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Intervals, JoinsWhatOverlapsOrTouches) {
  const Intervals joined({{5, 8}, {0, 2}, {2, 4}, {7, 9}});
  EXPECT_THAT(joined.parts(), ElementsAre(Interval{0, 4}, Interval{5, 9}));
  EXPECT_EQ(joined.length(), 8);
}

TEST(Intervals, LeavesOutWhatIsEmpty) {
  EXPECT_THAT(Intervals({{3, 3}, {5, 4}}).parts(), IsEmpty());
  EXPECT_EQ(Intervals().length(), 0);
}

TEST(Intervals, CutsAtBothEndsOfAWindow) {
  const Intervals all({{0, 4}, {6, 9}});
  EXPECT_THAT(all.within({2, 7}).parts(), ElementsAre(Interval{2, 4}, Interval{6, 7}));
  EXPECT_TRUE(all.within({4, 6}).empty());
}

TEST(Intervals, TakesHolesOut) {
  const Intervals rest = Intervals({{0, 10}, {20, 30}}) - Intervals({{2, 4}, {8, 22}, {29, 40}});
  EXPECT_THAT(rest.parts(), ElementsAre(Interval{0, 2}, Interval{4, 8}, Interval{22, 29}));
}

// The oracle: one bit per moment.
constexpr std::size_t kMoments = 96;
using Moments = std::bitset<kMoments>;

struct Sample {
  std::vector<Interval> intervals;
  Moments moments;
};

// Draws many, few or no intervals, long and short, empty and backward ones among them.
Sample draw(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> moment(0, kMoments);
  std::uniform_int_distribution<int> count(0, 12);
  std::uniform_int_distribution<std::int64_t> length(-2, 20);
  Sample sample;
  for (int i = count(random); i > 0; --i) {
    const std::int64_t begin = moment(random);
    const std::int64_t end = std::min<std::int64_t>(begin + length(random), kMoments);
    sample.intervals.push_back({begin, end});
    for (std::int64_t at = begin; at < end; ++at) sample.moments.set(static_cast<std::size_t>(at));
  }
  return sample;
}

Moments moments_of(const Intervals& intervals) {
  Moments moments;
  for (const Interval& part : intervals.parts()) {
    for (std::int64_t at = part.begin; at < part.end; ++at) {
      moments.set(static_cast<std::size_t>(at));
    }
  }
  return moments;
}

// Sorted, neither empty nor touching: so equal sets have equal parts.
void expect_normal(const Intervals& intervals) {
  const auto& parts = intervals.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_LT(parts[i].begin, parts[i].end);
    if (i > 0) EXPECT_LT(parts[i - 1].end, parts[i].begin);
  }
}

void expect_moments(const Intervals& intervals, const Moments& expected) {
  EXPECT_EQ(moments_of(intervals), expected);
  EXPECT_EQ(intervals.length(), static_cast<std::int64_t>(expected.count()));
  expect_normal(intervals);
}

constexpr int kTrials = 4000;

TEST(IntervalsProperty, EveryOperationEqualsTheOneOnSingleMoments) {
  std::mt19937 random(20);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Sample a = draw(random);
    const Sample b = draw(random);
    const Intervals left(a.intervals);
    const Intervals right(b.intervals);
    expect_moments(left, a.moments);
    expect_moments(left | right, a.moments | b.moments);
    expect_moments(left & right, a.moments & b.moments);
    expect_moments(left - right, a.moments & ~b.moments);
    if (HasFailure()) FAIL() << "in trial " << trial;
  }
}

TEST(IntervalsProperty, PartsOfAWindowAddUpToIt) {
  std::mt19937 random(21);
  for (int trial = 0; trial < kTrials; ++trial) {
    const Intervals window({{10, 80}});
    const Intervals some(draw(random).intervals);
    const Intervals more(draw(random).intervals);
    const Intervals outside = window - some - more;
    EXPECT_EQ((window & some).length() + ((window & more) - some).length() + outside.length(), 70);
    EXPECT_EQ(some.within({10, 80}), window & some);
    EXPECT_EQ((some & more).length() + (some - more).length(), some.length());
    if (HasFailure()) FAIL() << "in trial " << trial;
  }
}

}  // namespace
}  // namespace sheaf::profile
