#include "sheaf/profile/account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sheaf::profile {
namespace {

using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;

Span span(SpanKind kind, std::int64_t begin, std::int64_t end) {
  return {.kind = kind, .begin = begin * kSecond, .end = end * kSecond};
}

Span collective(std::int64_t begin, std::int64_t end, Label unit = 0) {
  Span made = span(SpanKind::collective, begin, end);
  made.what = "all_gather";
  made.purpose = "parameters";
  made.bytes = 100;
  made.unit = unit;
  return made;
}

StepTimes times_of(const std::vector<Span>& spans, std::int64_t until) {
  return account(spans, {0, until * kSecond}, Recorder()).times;
}

TEST(Account, SplitsAStepIntoItsPhases) {
  const StepTimes times = times_of({span(SpanKind::data, 0, 1),
                                    span(SpanKind::forward, 1, 4),
                                    span(SpanKind::backward, 4, 9),
                                    span(SpanKind::optimizer, 9, 11)},
                                   12);
  EXPECT_EQ(times.data_wait, Seconds(1));
  EXPECT_EQ(times.forward, Seconds(3));
  EXPECT_EQ(times.backward, Seconds(5));
  EXPECT_EQ(times.optimizer, Seconds(2));
  EXPECT_EQ(times.idle, Seconds(1));
  EXPECT_EQ(times.total(), Seconds(12));
}

TEST(Account, CallsCommunicationHiddenOnlyWhileTheRankComputes) {
  // From 2 to 6, of which the rank waits for it from 5 on.
  const StepTimes times =
      times_of({span(SpanKind::forward, 0, 10), collective(2, 6), span(SpanKind::wait, 5, 6)}, 10);
  EXPECT_EQ(times.hidden_communication, Seconds(3));
  EXPECT_EQ(times.exposed_communication, Seconds(1));
  EXPECT_EQ(times.forward, Seconds(9));
  EXPECT_EQ(times.total(), Seconds(10));
}

// As steps of the optimizer do that run beside backward.
TEST(Account, CountsWaitsOfAnotherStreamOnlyInTheOptimizersTime) {
  std::vector<Span> spans{span(SpanKind::backward, 0, 10),
                          span(SpanKind::optimizer, 10, 16),
                          span(SpanKind::wait, 2, 13),
                          collective(2, 13)};
  spans[0].stream = spans[1].stream = 3;
  spans[2].stream = 4;
  spans[3].stream = 5;
  StepTimes times = times_of(spans, 16);
  EXPECT_EQ(times.backward, Seconds(10));
  EXPECT_EQ(times.optimizer, Seconds(3));
  EXPECT_EQ(times.exposed_communication, Seconds(3));
  spans[2].stream = 3;
  times = times_of(spans, 16);
  EXPECT_EQ(times.backward, Seconds(2));
  EXPECT_EQ(times.exposed_communication, Seconds(11));
}

TEST(Account, LeavesOutWhatLiesBehindTheStep) {
  const StepTimes times = times_of({span(SpanKind::forward, 2, 8), collective(12, 14)}, 10);
  EXPECT_EQ(times.forward, Seconds(6));
  EXPECT_EQ(times.total(), Seconds(10));
}

TEST(Account, CallsCommunicationExposedWhileTheRankWaitsForData) {
  const StepTimes times =
      times_of({span(SpanKind::data, 0, 4), span(SpanKind::forward, 4, 10), collective(1, 6)}, 10);
  EXPECT_EQ(times.exposed_communication, Seconds(3));
  EXPECT_EQ(times.hidden_communication, Seconds(2));
  EXPECT_EQ(times.data_wait, Seconds(1));
  EXPECT_EQ(times.total(), Seconds(10));
}

TEST(Account, CallsWaitingIdleWhereNothingIsExchanged) {
  const StepTimes times =
      times_of({span(SpanKind::forward, 0, 10), collective(4, 6), span(SpanKind::wait, 2, 6)}, 10);
  EXPECT_EQ(times.exposed_communication, Seconds(2));
  EXPECT_EQ(times.idle, Seconds(2));
  EXPECT_EQ(times.forward, Seconds(6));
}

TEST(Account, TakesAnExchangeInTheComputingStreamForExposed) {
  std::vector<Span> spans = {span(SpanKind::backward, 0, 10), collective(2, 5), collective(6, 8)};
  spans[0].stream = 3;
  spans[1].stream = 3;
  spans[2].stream = 4;
  const StepTimes times = times_of(spans, 10);
  EXPECT_EQ(times.exposed_communication, Seconds(3));
  EXPECT_EQ(times.hidden_communication, Seconds(2));
  EXPECT_EQ(times.backward, Seconds(7));
}

TEST(Account, CutsSpansAtTheEndsOfTheStep) {
  const StepTimes times = times_of({span(SpanKind::forward, -3, 4), collective(8, 20)}, 10);
  EXPECT_EQ(times.forward, Seconds(4));
  EXPECT_EQ(times.exposed_communication, Seconds(2));
  EXPECT_EQ(times.total(), Seconds(10));
}

TEST(Account, CountsExchangesByKindAndPurpose) {
  std::vector<Span> spans = {collective(0, 1), collective(1, 3), collective(3, 4)};
  spans[2].what = "all_reduce";
  spans[2].purpose = "loss";
  const Account result = account(spans, {0, 10 * kSecond}, Recorder());
  ASSERT_THAT(result.collectives, SizeIs(2));
  EXPECT_EQ(result.collectives[0].collective, "all_gather");
  EXPECT_EQ(result.collectives[0].purpose, "parameters");
  EXPECT_EQ(result.collectives[0].exchanged.calls, 2);
  EXPECT_EQ(result.collectives[0].exchanged.bytes, Bytes{200});
  EXPECT_EQ(result.collectives[0].exchanged.time, Seconds(3));
  EXPECT_EQ(result.collectives[1].exchanged.calls, 1);
}

TEST(Account, GivesAUnitItsOwnTimeOnly) {
  Recorder recorder;
  const Label root = recorder.label("root");
  const Label block = recorder.label("block");
  std::vector<Span> spans = {span(SpanKind::unit_forward, 0, 10),
                             span(SpanKind::unit_forward, 2, 6),
                             span(SpanKind::wait, 3, 4),
                             collective(3, 4, block)};
  spans[0].unit = root;
  spans[1].unit = block;
  const Account result = account(spans, {0, 10 * kSecond}, recorder);
  ASSERT_THAT(result.units, SizeIs(2));
  EXPECT_EQ(result.units[0].unit, "block");
  EXPECT_EQ(result.units[0].forward, Seconds(3));
  EXPECT_EQ(result.units[0].gathers.calls, 1);
  EXPECT_EQ(result.units[1].unit, "root");
  EXPECT_EQ(result.units[1].forward, Seconds(6));
}

TEST(Account, AddsUpOverSteps) {
  Account sum = account({{collective(0, 1)}}, {0, 2 * kSecond}, Recorder());
  sum += account({{collective(0, 1)}}, {0, 3 * kSecond}, Recorder());
  EXPECT_EQ(sum.times.total(), Seconds(5));
  ASSERT_THAT(sum.collectives, SizeIs(1));
  EXPECT_EQ(sum.collectives[0].exchanged.calls, 2);
}

// Whatever was recorded, nothing is lost and nothing counts twice.
TEST(AccountProperty, AlwaysAddsUpToTheStep) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int64_t> moment(-20, 120);
  std::uniform_int_distribution<int> kind(0, static_cast<int>(SpanKind::wait));
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Span> spans;
    // Phases come one after the other; the rest lies anywhere.
    for (int i = 0; i < 4; ++i) {
      spans.push_back(span(static_cast<SpanKind>(i), 25 * i, 25 * i + 20));
    }
    for (int i = 0; i < 12; ++i) {
      const auto which = static_cast<SpanKind>(kind(random));
      if (which <= SpanKind::optimizer) continue;
      const std::int64_t begin = moment(random);
      spans.push_back(span(which, begin, begin + moment(random)));
    }
    const StepTimes times = times_of(spans, 100);
    EXPECT_NEAR(times.total().count(), 100, 1e-9);
    EXPECT_GE(times.idle.count(), 0);
    if (HasFailure()) FAIL() << "in trial " << trial;
  }
}

}  // namespace
}  // namespace sheaf::profile
