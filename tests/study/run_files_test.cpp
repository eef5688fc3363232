#include "study/run_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sheaf/base/error.h"
#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

using sheaf::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr const char* kStart = R"({"event":"start","first_step":0})";

std::string step_line(int step, double seconds) {
  return Json({{"event", "step"}, {"step", step}, {"loss", 1.0 / step}, {"seconds", seconds}})
      .dump();
}

RunFiles read_lines(const std::vector<std::string>& lines, const std::string& rest = "") {
  const TemporaryFolder folder;
  std::ofstream file(folder.path("metrics.jsonl"));
  for (const std::string& line : lines) file << line << "\n";
  file << rest;
  file.close();
  return read_run(folder.path(""));
}

TEST(RunFiles, LeaveOutALineThatIsNotWhole) {
  const RunFiles run = read_lines({kStart, step_line(1, 0.5)}, R"({"event":"step","st)");
  EXPECT_THAT(run.steps, SizeIs(1));
  EXPECT_FALSE(run.end.has_value());
}

TEST(RunFiles, TakeTheLaterLineOfAStepThatWasDoneAgain) {
  const RunFiles run = read_lines({kStart,
                                   step_line(1, 0.1),
                                   step_line(2, 0.2),
                                   step_line(3, 0.3),
                                   R"({"event":"start","first_step":2})",
                                   step_line(3, 0.9)});
  ASSERT_THAT(run.steps, SizeIs(3));
  EXPECT_EQ(run.steps.back()["seconds"], 0.9);
}

TEST(RunFiles, ForgetARunThatBeganAnew) {
  const RunFiles run =
      read_lines({kStart, step_line(1, 0.1), step_line(2, 0.1), kStart, step_line(1, 0.7)});
  ASSERT_THAT(run.steps, SizeIs(1));
  EXPECT_EQ(run.steps[0]["seconds"], 0.7);
}

TEST(RunFiles, CountTheStepsThatSpeedsCount) {
  const RunFiles run = read_lines({kStart,
                                   step_line(1, 9),
                                   step_line(2, 1),
                                   step_line(3, 2),
                                   R"({"event":"end","counted_steps":2})"});
  EXPECT_THAT(counted_seconds(run), ElementsAre(1, 2));
}

TEST(RunFiles, AreMissedByName) {
  const TemporaryFolder folder;
  EXPECT_THROW(static_cast<void>(read_run(folder.path("none"))), UsageError);
}

TEST(Quantile, LiesBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.95), 9.5);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace sheaf::study
