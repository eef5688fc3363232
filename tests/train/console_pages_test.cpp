#include "train/console_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/sample_run.h"

namespace sheaf::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_info;
using testing::sample_summary;

TEST(StartPage, TellsWhatWillRun) {
  EXPECT_THAT(start_page(sample_info()),
              HasSubstr("\n"
                        "  model      gpt2, 124,439,808 parameters, 1.00 KFLOP per token\n"
                        "  ranks      4, zero3 over nccl, mesh shard 4\n"
                        "  device     cuda\n"
                        "  peak       1.00 TFLOP/s per device (a test's device)\n"
                        "  precision  bf16\n"
                        "  data       stories\n"
                        "  batch      8 texts of 128 tokens\n"
                        "  steps      200\n"
                        "\n"
                        "  memory per rank\n"
                        "    parameters  3.0 MiB\n"
                        "    gradients   1.0 MiB\n"
                        "    total       4.0 MiB\n"));
}

TEST(StartPage, LeavesOutWhatIsUnknown) {
  const auto page = start_page({.model = "cnn", .parameters = 1});
  EXPECT_THAT(page, HasSubstr("model  cnn, 1 parameter\n"));
  EXPECT_THAT(page, HasSubstr("peak   unknown\n"));
  EXPECT_THAT(page, HasSubstr("steps  no end set\n"));
  EXPECT_THAT(page, Not(HasSubstr("memory")));
  EXPECT_THAT(page, Not(HasSubstr("batch")));
}

TEST(StartPage, SaysWhereAResumedRunBegins) {
  RunInfo info = sample_info();
  info.first_step = 50;
  EXPECT_THAT(start_page(info), HasSubstr("200, of which 50 are done"));
}

TEST(StartPage, EscapesNames) {
  RunInfo info = sample_info();
  info.data = "a\x1b[2J";
  EXPECT_THAT(start_page(info), HasSubstr("a\\u001B[2J"));
}

TEST(EndPage, TellsWhatCameOut) {
  Summary summary = sample_summary();
  summary.progress.cost = 0.375;
  EXPECT_EQ(end_page(sample_info(), summary),
            "\n"
            "Done: 200 steps in 1.5 min\n"
            "\n"
            "  loss        5.2500 -> 2.1250\n"
            "  evaluation  loss 2.0000, perplexity 7.389, 5,000 tokens in 1.5 s (step 100)\n"
            "  throughput  2,000 tokens/s in all, 500 tokens/s per device (4 devices)\n"
            "  speed       2.00 steps/s, 500.0 ms per step\n"
            "  MFU         40.0 %, very good\n"
            "  compute     1.60 TFLOP/s achieved of 4.00 TFLOP/s peak (a test's device)\n"
            "  epochs      2 done, 42.0 s each on average (40.0 s, 44.0 s)\n"
            "  cost        0.38 for 1.5 min of 4 devices\n"
            "\n"
            "  time per step, mean of 10 steps\n"
            "    waiting for data         20.00 ms    4.0 %\n"
            "    forward                 100.00 ms   20.0 %\n"
            "    backward                200.00 ms   40.0 %\n"
            "    waiting for ranks        50.00 ms   10.0 %\n"
            "    optimizer                30.00 ms    6.0 %\n"
            "    idle                    100.00 ms   20.0 %\n"
            "    total                   500.00 ms  100.0 %\n"
            "    exchanges beside these   40.00 ms    8.0 %\n"
            "\n"
            "  memory per rank\n"
            "    rank  peak allocated  peak resident\n"
            "       0       768.0 MiB        2.0 GiB\n"
            "       1       768.0 MiB        2.0 GiB\n");
}

TEST(EndPage, TellsWhatWasExchangedPerStep) {
  Summary summary = sample_summary();
  summary.collectives = {
      {"all_gather", "parameters", {.calls = 30, .bytes = mebibytes(40), .time = Seconds(1)}}};
  EXPECT_THAT(end_page(sample_info(), summary),
              HasSubstr("  exchanges per step of rank 0\n"
                        "    exchange               calls    bytes       time\n"
                        "    all_gather parameters      3  4.0 MiB  100.00 ms\n"));
}

TEST(EndPage, ShowsTheCostliestUnits) {
  Summary summary = sample_summary();
  for (int i = 0; i < 9; ++i) {
    summary.units.push_back({.unit = "h." + std::to_string(i), .forward = Seconds(i)});
  }
  const std::string page = end_page(sample_info(), summary);
  EXPECT_THAT(page, HasSubstr("the 6 costliest of 9"));
  EXPECT_THAT(page, HasSubstr("    h.8   800.00 ms   0.00 ms"));
  EXPECT_THAT(page, Not(HasSubstr("h.2 ")));
}

TEST(EndPage, NamesTheSlowRank) {
  Summary summary = sample_summary();
  summary.imbalance.spreads = {{.what = "all_reduce gradients",
                                .calls = 10,
                                .mean = Seconds(0.05),
                                .longest = Seconds(0.06),
                                .last_rank = 2}};
  summary.imbalance.straggler =
      profile::Straggler{.rank = 2, .phase = "forward", .excess = Seconds(0.05), .share = 0.25};
  const std::string page = end_page(sample_info(), summary);
  EXPECT_THAT(page,
              HasSubstr("  slow rank   rank 2 in forward: 50.0 ms more per step than the others, "
                        "who wait 25.0 % of a step for it\n"));
  EXPECT_THAT(page, HasSubstr("    all_reduce gradients  50.00 ms  60.00 ms  rank 2\n"));
}

TEST(EndPage, SaysWhyARunStopped) {
  Summary summary = sample_summary();
  summary.steps = 70;
  summary.interrupted = "interrupted by SIGTERM";
  EXPECT_THAT(end_page(sample_info(), summary),
              HasSubstr("Stopped after step 70 of 200, 1.5 min: interrupted by SIGTERM\n"));
}

TEST(EndPage, CountsTheStepsBeforeAResumedRun) {
  RunInfo info = sample_info();
  info.first_step = 50;
  EXPECT_THAT(end_page(info, {.steps = 20, .interrupted = "x"}),
              HasSubstr("Stopped after step 70 of 200"));
}

TEST(EndPage, GivesTheReasonOfAPoorMfu) {
  Summary summary = sample_summary();
  summary.progress.mfu = 0.1;
  summary.phases.data_wait = Seconds(9);
  EXPECT_THAT(end_page(sample_info(), summary),
              HasSubstr("  MFU         10.0 %, poor\n"
                        "              waiting for data takes"));
}

TEST(EndPage, HasNoMfuWithoutAPeak) {
  Summary summary = sample_summary();
  summary.progress.mfu.reset();
  const auto page = end_page(sample_info(), summary);
  EXPECT_THAT(page, Not(HasSubstr("MFU")));
  EXPECT_THAT(page, HasSubstr("compute     1.60 TFLOP/s achieved\n"));
}

TEST(EndPage, ShowsTheExtremesOfManyRanks) {
  Summary summary = sample_summary();
  summary.memory.assign(64, {.peak_allocated = gibibytes(2)});
  summary.memory[7].peak_allocated = gibibytes(1);
  summary.memory[40].peak_allocated = gibibytes(3);
  EXPECT_THAT(end_page(sample_info(), summary),
              HasSubstr("memory, the ranks with the least and the most\n"
                        "    rank  peak allocated\n"
                        "       7         1.0 GiB\n"
                        "      40         3.0 GiB\n"));
}

TEST(EndPage, HoldsForARunWithoutSteps) {
  EXPECT_EQ(end_page(sample_info(), {}), "\nDone: 0 steps in 0.0 s\n\n");
}

}  // namespace
}  // namespace sheaf::train
