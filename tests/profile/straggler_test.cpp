#include "sheaf/profile/straggler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::profile {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kMillisecond = 1'000'000;

/// Ranks that come to `calls` exchanges, 10 ms apart, each as many milliseconds late as is given.
std::vector<RankReport> reports(const std::vector<std::int64_t>& late_ms, int calls = 10) {
  std::vector<RankReport> ranks;
  for (const std::int64_t late : late_ms) {
    RankReport report{.steps = 5, .times = {.forward = Seconds(0.1)}, .arrivals = {}};
    for (int call = 0; call < calls; ++call) {
      report.arrivals.push_back({.call = fmt::format("world {}", call),
                                 .what = "all_reduce gradients",
                                 .time = (10 * call + late) * kMillisecond});
    }
    ranks.push_back(report);
  }
  return ranks;
}

TEST(Imbalance, IsTheTimeBetweenTheFirstAndTheLastToCome) {
  const Imbalance found = find_imbalance(reports({0, 1, 3}));
  ASSERT_THAT(found.spreads, SizeIs(1));
  EXPECT_EQ(found.spreads[0].what, "all_reduce gradients");
  EXPECT_EQ(found.spreads[0].calls, 10);
  EXPECT_DOUBLE_EQ(found.spreads[0].mean.count(), 0.003);
  EXPECT_DOUBLE_EQ(found.spreads[0].longest.count(), 0.003);
  EXPECT_EQ(found.spreads[0].last_rank, 2);
}

TEST(Imbalance, PutsTheWidestFirst) {
  std::vector<RankReport> ranks = reports({0, 2});
  ranks[0].arrivals.push_back({.call = "world/split0.0 3", .what = "all_gather parameters"});
  ranks[1].arrivals.push_back(
      {.call = "world/split0.0 3", .what = "all_gather parameters", .time = 5 * kMillisecond});
  const Imbalance found = find_imbalance(ranks);
  ASSERT_THAT(found.spreads, SizeIs(2));
  EXPECT_EQ(found.spreads[0].what, "all_gather parameters");
}

TEST(Imbalance, LeavesOutCallsThatOnlyOneRankKnows) {
  std::vector<RankReport> ranks = reports({0, 2}, /*calls=*/0);
  ranks[0].arrivals.push_back({.call = "world 1", .what = "all_reduce loss"});
  EXPECT_THAT(find_imbalance(ranks).spreads, IsEmpty());
  EXPECT_FALSE(find_imbalance(ranks).straggler);
}

TEST(ArrivalLog, LeavesMessagesOut) {
  ArrivalLog log(8);
  Span message{.kind = SpanKind::collective, .begin = 5, .end = 6};
  message.what = "send";
  Span gather = message;
  gather.what = "all_gather";
  log.add(std::vector{message, gather});
  const auto arrivals = log.arrivals(Recorder(), 0);
  ASSERT_THAT(arrivals, SizeIs(1));
  EXPECT_THAT(arrivals[0].what, ::testing::StartsWith("all_gather"));
}

TEST(Straggler, IsTheRankThatOthersWaitForAndThePhaseInWhichItTakesLonger) {
  std::vector<RankReport> ranks = reports({0, 4, 0, 1});
  ranks[1].times.forward = Seconds(0.1);
  ranks[1].times.backward = Seconds(0.5);
  for (const std::size_t other : {0, 2, 3}) {
    ranks[other].times.backward = Seconds(0.2);
    ranks[other].times.exposed_communication = Seconds(0.3);
  }
  const auto straggler = find_imbalance(ranks).straggler;
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_EQ(straggler->phase, "backward");
  EXPECT_NEAR(straggler->excess.count(), 0.06, 1e-12);  // 0.3 s more in 5 steps
  EXPECT_DOUBLE_EQ(straggler->share, 0.5);              // 0.3 s of 0.6
}

TEST(Straggler, IsLateOnceForExchangesThatRunTogether) {
  std::vector<RankReport> ranks = reports({0, 5}, /*calls=*/2);
  for (RankReport& rank : ranks) rank.arrivals[1].time = rank.arrivals[0].time;
  // The other one is late for nearly as long, so neither is a straggler.
  ranks[0].arrivals.push_back(
      {.call = "world 9", .what = "all_reduce loss", .time = 13 * kMillisecond});
  ranks[1].arrivals.push_back(
      {.call = "world 9", .what = "all_reduce loss", .time = 10 * kMillisecond});
  ranks[0].times.exposed_communication = Seconds(0.3);
  ranks[1].times.forward = Seconds(0.4);
  EXPECT_FALSE(find_imbalance(ranks).straggler);
}

TEST(Straggler, IsNobodyWhereRanksComeNearlyTogether) {
  std::vector<RankReport> ranks = reports({0, 0});
  ranks[1].times.forward = Seconds(0.11);
  ranks[1].arrivals[3].time += kMillisecond / 10;
  EXPECT_FALSE(find_imbalance(ranks).straggler);
}

TEST(Straggler, IsNobodyWhereRanksAreLateInTurns) {
  std::vector<RankReport> ranks = reports({0, 0});
  for (std::size_t call = 0; call < 10; ++call) {
    ranks[call % 2].arrivals[call].time += 5 * kMillisecond;
  }
  ranks[1].times.forward = Seconds(0.11);
  EXPECT_FALSE(find_imbalance(ranks).straggler);
}

TEST(RankReport, IsTheSameAfterTheJourney) {
  RankReport report = reports({7}).front();
  report.times.idle = Seconds(0.125);
  const RankReport back = parse_report(to_text(report));
  EXPECT_EQ(back.steps, 5);
  EXPECT_EQ(back.times.forward, Seconds(0.1));
  EXPECT_EQ(back.times.idle, Seconds(0.125));
  ASSERT_THAT(back.arrivals, SizeIs(10));
  EXPECT_EQ(back.arrivals[9].call, "world 9");
  EXPECT_EQ(back.arrivals[9].what, "all_reduce gradients");
  EXPECT_EQ(back.arrivals[9].time, 97 * kMillisecond);
}

TEST(ArrivalLog, KeepsTheNewestExchangesByTheCommonClock) {
  Recorder recorder;
  ArrivalLog log(/*most=*/1000);
  const Label world = recorder.label("world");
  for (std::int64_t call = 0; call < 5000; ++call) {
    const Span exchange{.kind = SpanKind::collective,
                        .begin = 100 + call,
                        .end = 101 + call,
                        .what = "all_gather",
                        .purpose = "parameters",
                        .group = world,
                        .call = call};
    log.add({{exchange, Span{.kind = SpanKind::wait}}});
  }
  const auto arrivals = log.arrivals(recorder, /*offset=*/100);
  EXPECT_THAT(arrivals, SizeIs(1000));
  EXPECT_THAT(arrivals,
              ::testing::Contains(
                  ::testing::AllOf(::testing::Field(&Arrival::call, "world 4999"),
                                   ::testing::Field(&Arrival::what, "all_gather parameters"),
                                   ::testing::Field(&Arrival::time, 4999))));
  EXPECT_THAT(arrivals,
              ::testing::Not(::testing::Contains(::testing::Field(&Arrival::call, "world 0"))));
}

}  // namespace
}  // namespace sheaf::profile
