#include "sheaf/profile/trace_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/small_traces.h"
#include "support/temporary_folder.h"

namespace sheaf::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Seconds kMicrosecond{1e-6};

RankTrace report(const std::vector<std::string>& events) {
  const testing::TemporaryFolder folder;
  return report_on(read_trace(folder.write("a.json", trace_text(events)))).at(0);
}

void expect_microseconds(Seconds time, double expected) {
  EXPECT_NEAR(time / kMicrosecond, expected, 1e-6);
}

TEST(TraceReport, AccountsForASheafStepOnTheCpu) {
  const TraceTimes times = report({range("step", {0, 100}),
                                   range("data", {0, 10}),
                                   range("forward", {10, 40}),
                                   range("backward", {40, 80}),
                                   range("optimizer", {80, 95}),
                                   exchange("all_gather", "parameters", 8, {30, 50}),
                                   range("wait", {45, 50})})
                               .times;
  EXPECT_EQ(times.steps, 1);
  expect_microseconds(times.time, 100);
  expect_microseconds(times.compute, 80);  // 85 in phases, 5 of them waiting
  expect_microseconds(times.non_compute, 15);
  expect_microseconds(times.idle, 5);
  expect_microseconds(times.kernel, 95);
  expect_microseconds(times.optimizer, 15);
  expect_microseconds(times.data_wait, 10);
  expect_microseconds(times.communication, 20);
  expect_microseconds(times.exposed(), 5);
  EXPECT_DOUBLE_EQ(times.overlap().value(), 0.75);
}

TEST(TraceReport, AccountsForKernelsOfAGpu) {
  const RankTrace rank =
      report({event("user_annotation", "ProfilerStep#7", {0, 100}),
              event("kernel", "gemm", {0, 40}, {.thread = 7}),
              event("kernel", "gemm", {60, 80}, {.thread = 7}),
              event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", {30, 70}, {.thread = 9}),
              event("gpu_memcpy", "Memcpy HtoD", {80, 90}, {.thread = 7}),
              event("cpu_op", "aten::mm", {0, 5})});
  EXPECT_TRUE(rank.on_gpu);
  expect_microseconds(rank.times.compute, 60);
  expect_microseconds(rank.times.non_compute, 30);  // 40..60 and the copy
  expect_microseconds(rank.times.idle, 10);
  expect_microseconds(rank.times.kernel, 90);
  EXPECT_DOUBLE_EQ(rank.times.overlap().value(), 0.5);
  expect_microseconds(rank.times.exposed(), 20);
  ASSERT_THAT(rank.collectives, SizeIs(1));
  EXPECT_EQ(rank.collectives[0].collective, "all_reduce");
}

TEST(TraceReport, TakesOperatorsForComputeInTracesOfOthers) {
  const TraceTimes times = report({event("cpu_op", "aten::mm", {0, 10}),
                                   event("cpu_op", "aten::add", {20, 30}),
                                   event("cpu_op", "gloo:all_reduce", {25, 40}, {.thread = 4})})
                               .times;
  expect_microseconds(times.time, 40);
  expect_microseconds(times.compute, 20);
  expect_microseconds(times.communication, 15);
  expect_microseconds(times.hidden, 5);
  expect_microseconds(times.idle, 10);
}

TEST(TraceReport, CountsTheStepsAndOnlyWhatIsInThem) {
  const TraceTimes times =
      report({range("step", {0, 10}), range("step", {50, 60}), range("forward", {5, 55})}).times;
  EXPECT_EQ(times.steps, 2);
  expect_microseconds(times.time, 20);
  expect_microseconds(times.compute, 10);
  expect_microseconds(times.idle_per_step(), 5);
}

TEST(TraceReport, ListsCollectivesByKindAndPurpose) {
  const auto uses = report({range("forward", {0, 9}),
                            exchange("all_gather", "parameters", 8, {0, 2}),
                            exchange("all_gather", "parameters", 16, {3, 7}),
                            exchange("all_reduce", "loss", 4, {8, 9})})
                        .collectives;
  ASSERT_THAT(uses, SizeIs(2));
  EXPECT_EQ(uses[0].exchanged.calls, 2);
  EXPECT_EQ(uses[0].exchanged.bytes, Bytes{24});
  expect_microseconds(uses[0].exchanged.time, 6);
  EXPECT_EQ(uses[1].purpose, "loss");
}

TEST(TraceReport, SaysOfDataWhatTheAccountSays) {
  const TraceTimes times = report({range("step", {0, 10}),
                                   range("data", {0, 4}),
                                   range("forward", {4, 10}),
                                   exchange("all_gather", "parameters", 8, {1, 6})})
                               .times;
  expect_microseconds(times.data_wait, 1);
  expect_microseconds(times.exposed(), 3);
}

TEST(TraceReport, CountsOnlyOperatorsThatBeginInAStep) {
  const RankTrace rank = report({range("step", {10, 20}),
                                 range("step", {40, 50}),
                                 event("cpu_op", "aten::mm", {10, 12}),
                                 event("cpu_op", "aten::mm", {18, 25}),
                                 event("cpu_op", "aten::mm", {50, 51}),
                                 event("cpu_op", "aten::add", {0, 30}),
                                 event("cpu_op", "aten::add", {20, 21})});
  ASSERT_THAT(rank.operators, SizeIs(1));
  EXPECT_EQ(rank.operators[0].name, "aten::mm");
  EXPECT_EQ(rank.operators[0].calls, 2);
  expect_microseconds(rank.operators[0].total, 9);
}

TEST(TraceReport, CountsOnlyCollectivesOfOthersThatBeginInAStep) {
  const RankTrace rank = report({event("user_annotation", "ProfilerStep#1", {10, 20}),
                                 event("cpu_op", "gloo:all_reduce", {11, 12}),
                                 event("cpu_op", "gloo:all_reduce", {25, 26})});
  ASSERT_THAT(rank.collectives, SizeIs(1));
  EXPECT_EQ(rank.collectives[0].exchanged.calls, 1);
}

TEST(TraceReport, GivesAnOperatorItsOwnTime) {
  const auto operators = report({event("cpu_op", "aten::linear", {0, 10}),
                                 event("cpu_op", "aten::addmm", {2, 9}),
                                 event("cpu_op", "aten::copy_", {3, 4}),
                                 event("cpu_op", "aten::linear", {20, 21}),
                                 // Another thread at the same time.
                                 event("cpu_op", "aten::copy_", {1, 2}, {.thread = 8})})
                             .operators;
  ASSERT_THAT(operators, SizeIs(3));
  EXPECT_EQ(operators[0].name, "aten::addmm");
  expect_microseconds(operators[0].self, 6);
  EXPECT_EQ(operators[1].name, "aten::linear");
  EXPECT_EQ(operators[1].calls, 2);
  expect_microseconds(operators[1].total, 11);
  expect_microseconds(operators[1].self, 4);
  expect_microseconds(operators[2].self, 2);
}

std::vector<bool> passed(const std::vector<Verdict>& verdicts) {
  std::vector<bool> all;
  for (const Verdict& verdict : verdicts) all.push_back(verdict.passed);
  return all;
}

RankTrace rank_with(const TraceTimes& times) {
  return {.owner = {.rank = 4, .strategy = {}, .traffic = {}},
          .on_gpu = false,
          .times = times,
          .collectives = {},
          .operators = {}};
}

TEST(TraceVerdicts, PassAHealthyRun) {
  const RankTrace rank = rank_with({.steps = 2,
                                    .time = Seconds(10),
                                    .compute = Seconds(9.8),
                                    .idle = Seconds(0.1),
                                    .communication = Seconds(1),
                                    .hidden = Seconds(0.96)});
  const auto verdicts = judge({rank}, {});
  EXPECT_THAT(passed(verdicts), ElementsAre(true, true, true));
  EXPECT_THAT(verdicts[0].text, HasSubstr("pass: compute 98.00 % on rank 4"));
  for (const Verdict& verdict : verdicts) EXPECT_THAT(verdict.advice, IsEmpty());
}

TEST(TraceVerdicts, SayWhatToTryWhereTheyFail) {
  const RankTrace rank = rank_with({.steps = 2,
                                    .time = Seconds(10),
                                    .compute = Seconds(7),
                                    .idle = Seconds(0.5),
                                    .communication = Seconds(4),
                                    .hidden = Seconds(1.5)});
  const auto verdicts = judge({rank_with({.time = Seconds(1), .compute = Seconds(1)}), rank}, {});
  EXPECT_THAT(passed(verdicts), ElementsAre(false, false, false));
  EXPECT_THAT(verdicts[0].text, HasSubstr("fail: compute 70.00 %"));
  EXPECT_THAT(verdicts[0].advice, HasSubstr("exposed communication"));
  EXPECT_THAT(verdicts[1].text, HasSubstr("overlap 37.50 %"));
  EXPECT_THAT(verdicts[2].text, HasSubstr("idle 250.0 ms a step"));
}

TEST(TraceVerdicts, KeepToTheGivenThresholds) {
  const RankTrace rank = rank_with({.time = Seconds(10), .compute = Seconds(7)});
  EXPECT_FALSE(judge({rank}, {})[0].passed);
  EXPECT_TRUE(judge({rank}, {.min_compute = 70})[0].passed);
  EXPECT_THAT(judge({rank}, {})[1].text, HasSubstr("no communication"));
}

}  // namespace
}  // namespace sheaf::profile
