#include "gpu_training/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A light of 80 ms, of 75 ms in bursts and 90 ms without rest; eager at 250 as it comes and at 200
// tuned, compile at 160 and sheaf at 100 ms.
Results results() {
  Results made;
  made.contest.row = find_row("gpt2-large-b8");
  made.contest.work = work_of(made.contest.row);
  made.light = Light{.milliseconds = {{KernelClass::gemm, 60}, {KernelClass::norm, 20}},
                     .burst_milliseconds = {{KernelClass::gemm, 56}, {KernelClass::norm, 19}},
                     .replayed_ms = 70,
                     .measured = {}};
  made.sides = {
      {kPlain, {.step_ms = 250, .peak_bytes = 50e9}},
      {kEager, {.step_ms = 200, .peak_bytes = 40e9}},
      {kCompile, {.step_ms = 160, .peak_bytes = 25e9}},
      {kSheaf, {.step_ms = 100, .wall_ms = 102.4, .peak_bytes = 20e9, .first_step_s = 3}}};
  return made;
}

TEST(Page, ComparesASideWithThoseBeforeIt) {
  const Results made = results();
  EXPECT_THAT(side_row(made, made.sides[3]),
              HasSubstr("| sheaf | 100.00 | 81920 | 43.2 % | 2.50 | 2.00 | 1.60 | 80.0 % | 75.0 % "
                        "| 90.0 % | 20.00 | 0.40 | 0.50 | 0.80 | 3.0 | 80000 |"));
}

TEST(Page, HasAColumnForEveryCell) {
  const Results made = results();
  const std::string head = heading(made);
  const auto bars = [](const std::string& text) { return std::ranges::count(text, '|'); };
  // The table's head is at the end: its names, and the line below them.
  EXPECT_EQ(bars(side_row(made, made.sides[0])) * 2, bars(head.substr(head.find("| side |"))));
  EXPECT_EQ(bars(light_rows(made)), bars(side_row(made, made.sides[0])) * 3);
}

TEST(Page, ShowsTheLightInBurstsAndWithoutRest) {
  Results made = results();
  const std::string rows = light_rows(made);
  EXPECT_THAT(rows, HasSubstr("| speed of light | 80.00 |"));
  EXPECT_THAT(rows, HasSubstr("| - | - | 100.0 % | 93.8 % | 112.5 % | - |"));
  EXPECT_THAT(rows, HasSubstr("| light in bursts | 75.00 |"));
  EXPECT_THAT(rows, HasSubstr("| - | - | 106.7 % | 100.0 % | 120.0 % | - |"));
  EXPECT_THAT(rows, HasSubstr("| light without rest | 90.00 |"));
  EXPECT_THAT(rows, HasSubstr("| - | - | 88.9 % | 83.3 % | 100.0 % | - |"));
  made.light->replayed_ms.reset();
  EXPECT_THAT(light_rows(made), HasSubstr("| 100.0 % | 93.8 % | - | - |"));
  EXPECT_THAT(light_rows(made), Not(HasSubstr("without rest")));
}

nlohmann::json pass(const char* name) {
  return {{"pass", name},
          {"ms", 0.12},
          {"burst_ms", 0.11},
          {"library", "cublaslt"},
          {"way", "[in, out]"},
          {"tflops", 671}};
}

TEST(Page, ShowsHowEachProductAndAttentionWereTimed) {
  Results made = results();
  made.contest.work.linears = {{"qkv", 1280, 3840, 36}};
  made.light->measured = {
      {"stretch", {{"finalists", 3}, {"settle_ms", 180}, {"timed_ms", 120}}},
      {"linears", {{{"name", "qkv"}, {"passes", {pass("forward"), pass("input gradient")}}}}},
      {"attention",
       {{"all", {{"cudnn", {{"ms", 0.32}, {"burst_ms", 0.31}}}, {"flash", {{"burst_ms", 0.6}}}}}}},
      {"copy_bytes_per_second", 4.25e12},
      {"burst_copy_bytes_per_second", 4.3e12},
      {"sustained", {{"seconds", 2}, {"long_ms", 60}, {"burst_ms", 56}}}};
  const std::string page = light_page(made);
  EXPECT_THAT(page, HasSubstr("the 3 fastest ways in bursts ran without a pause for about 180 ms"));
  EXPECT_THAT(page,
              HasSubstr("| qkv, forward | 8192 x 1280 x 3840 | 0.1200 | 0.1100 | 671 | 36 |"));
  EXPECT_THAT(page, HasSubstr(" cudnn 0.320 (0.310); flash - (0.600); copy 4.25 TB/s (4.30)."));
  EXPECT_THAT(page, HasSubstr("70.00 ms a step, where long stretches of each add up to 60.00 and"));
}

TEST(Page, ComparesWithNothingThatDidNotRun) {
  Results made = results();
  made.light.reset();
  made.sides.erase(made.sides.begin(), made.sides.begin() + 3);
  EXPECT_THAT(side_row(made, made.sides[0]),
              HasSubstr("| - | - | - | - | - | - | 20.00 | - | - | - |"));
}

TEST(Page, ShowsWhatIsLeftOfEachClassAndTheGaps) {
  Results made = results();
  made.budget = Budget{
      .classes = {{KernelClass::gemm,
                   {.ms = 70, .running_ms = 72, .calls = 435, .kernels = {{"nvjet", 71, 434}}}},
                  {KernelClass::norm,
                   {.ms = 24, .running_ms = 30, .calls = 73, .kernels = {{"norm", 30, 73}}}}},
      .busy_ms = 94,
      .gaps_ms = 2};
  const std::string page = budget_page(made);
  EXPECT_THAT(page,
              HasSubstr("| GEMM | 60.00 | 70.00 | +10.00 | 72.00 | 435 | 71.00 ms: `nvjet` |"));
  EXPECT_THAT(page, HasSubstr("| launch gaps | 0.00 | 2.00 | +2.00 |"));
  EXPECT_THAT(page, HasSubstr("| not in the recording | 0.00 | 4.00 | +4.00 |"));
  EXPECT_THAT(page, HasSubstr("| step | 80.00 | 100.00 | +20.00 |"));
}

TEST(Page, ShowsThatARecordedStepWasLonger) {
  Results made = results();
  made.budget = Budget{.classes = {}, .busy_ms = 99, .gaps_ms = 8};
  const std::string page = budget_page(made);
  EXPECT_THAT(page, HasSubstr("| not in the recording | 0.00 | -7.00 | -7.00 |"));
  EXPECT_THAT(page, HasSubstr("| step | 80.00 | 100.00 | +20.00 |"));
  EXPECT_DOUBLE_EQ(json_of(made).at("budget").at("not_recorded_ms").get<double>(), -7);
}

TEST(Page, EndsWithTheRecordedStepWhereSheafDidNotRun) {
  Results made = results();
  made.sides.clear();
  made.budget = Budget{.classes = {}, .busy_ms = 99, .gaps_ms = 8};
  EXPECT_THAT(budget_page(made), HasSubstr("| step | 80.00 | 107.00 | +27.00 |"));
}

TEST(Page, KeepsAllFiguresInTheFile) {
  const auto all = json_of(results());
  EXPECT_EQ(all.at("row"), "gpt2-large-b8");
  const auto& sheaf = all.at("sides").at(3);
  EXPECT_DOUBLE_EQ(sheaf.at("part_of_light").get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(sheaf.at("part_of_burst_light").get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(sheaf.at("part_of_sustained_light").get<double>(), 0.9);
  EXPECT_DOUBLE_EQ(sheaf.at("speed_beside").at(kPlain).get<double>(), 2.5);
  EXPECT_DOUBLE_EQ(sheaf.at("speed_beside").at(kCompile).get<double>(), 1.6);
  EXPECT_DOUBLE_EQ(sheaf.at("memory_beside").at(kEager).get<double>(), 0.5);
}

TEST(Page, KeepsAllLightsInTheFile) {
  const auto light = json_of(results()).at("light");
  EXPECT_DOUBLE_EQ(light.at("step_ms").get<double>(), 80);
  EXPECT_DOUBLE_EQ(light.at("classes_ms").at("GEMM").get<double>(), 60);
  EXPECT_DOUBLE_EQ(light.at("bursts").at("step_ms").get<double>(), 75);
  EXPECT_DOUBLE_EQ(light.at("bursts").at("classes_ms").at("GEMM").get<double>(), 56);
  EXPECT_DOUBLE_EQ(light.at("sustained").at("step_ms").get<double>(), 90);
}

}  // namespace
}  // namespace sheaf::bench
