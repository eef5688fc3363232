#include "gpu_training/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A light of 80 ms, of 90 ms without rest, eager at 200, compile at 160 and sheaf at 100 ms.
Results results() {
  Results made;
  made.contest.row = find_row("gpt2-large-b8");
  made.contest.work = work_of(made.contest.row);
  made.light = Light{.milliseconds = {{KernelClass::gemm, 60}, {KernelClass::norm, 20}},
                     .replayed_ms = 70,
                     .measured = {}};
  made.sides = {
      {kEager, {.step_ms = 200, .peak_bytes = 40e9}},
      {kCompile, {.step_ms = 160, .peak_bytes = 25e9}},
      {kSheaf, {.step_ms = 100, .wall_ms = 102.4, .peak_bytes = 20e9, .first_step_s = 3}}};
  return made;
}

TEST(Page, ComparesASideWithThoseBeforeIt) {
  const Results made = results();
  EXPECT_THAT(side_row(made, made.sides[2]),
              HasSubstr("| sheaf | 100.00 | 81920 | 43.2 % | 2.00 | 1.60 | 80.0 % | 90.0 % | 20.00 "
                        "| 0.50 | 0.80 | 3.0 | 80000 |"));
}

TEST(Page, ShowsTheLightByBurstsAndWithoutRest) {
  Results made = results();
  const std::string rows = light_rows(made);
  EXPECT_THAT(rows, HasSubstr("| speed of light | 80.00 |"));
  EXPECT_THAT(rows, HasSubstr("| - | - | 100.0 % | 112.5 % | - |"));
  EXPECT_THAT(rows, HasSubstr("| light without rest | 90.00 |"));
  EXPECT_THAT(rows, HasSubstr("| - | - | 88.9 % | 100.0 % | - |"));
  made.light->replayed_ms.reset();
  EXPECT_THAT(light_rows(made), HasSubstr("| 100.0 % | - | - |"));
  EXPECT_THAT(light_rows(made), Not(HasSubstr("without rest")));
}

TEST(Page, ComparesWithNothingThatDidNotRun) {
  Results made = results();
  made.light.reset();
  made.sides.erase(made.sides.begin(), made.sides.begin() + 2);
  EXPECT_THAT(side_row(made, made.sides[0]), HasSubstr("| - | - | - | - | 20.00 | - | - |"));
}

TEST(Page, ShowsWhatIsLeftOfEachClassAndTheGaps) {
  Results made = results();
  made.budget = Budget{
      .classes = {{KernelClass::gemm, {.ms = 70, .calls = 435, .kernels = {{"nvjet", 70, 435}}}},
                  {KernelClass::norm, {.ms = 25, .calls = 73, .kernels = {{"norm", 25, 73}}}}},
      .busy_ms = 94,
      .gaps_ms = 2};
  const std::string page = budget_page(made);
  EXPECT_THAT(page, HasSubstr("| GEMM | 60.00 | 70.00 | +10.00 | 435 | 70.00 ms: `nvjet` |"));
  EXPECT_THAT(page, HasSubstr("| launch gaps | 0.00 | 2.00 | +2.00 |"));
  EXPECT_THAT(page, HasSubstr("| not in the recording | 0.00 | 4.00 | +4.00 |"));
  EXPECT_THAT(page, HasSubstr("| beside others | 0.00 | -1.00 | -1.00 |"));
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
  EXPECT_DOUBLE_EQ(all.at("sides").at(2).at("part_of_light").get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(all.at("sides").at(2).at("part_of_sustained_light").get<double>(), 0.9);
  EXPECT_DOUBLE_EQ(all.at("light").at("sustained").at("step_ms").get<double>(), 90);
  EXPECT_DOUBLE_EQ(all.at("sides").at(2).at("speed_beside").at(kCompile).get<double>(), 1.6);
  EXPECT_DOUBLE_EQ(all.at("sides").at(2).at("memory_beside").at(kEager).get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(all.at("light").at("classes_ms").at("GEMM").get<double>(), 60);
}

}  // namespace
}  // namespace sheaf::bench
