#include "study/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sheaf/base/error.h"
#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

using sheaf::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kRun =
    R"({"event":"start","first_step":0,"model":"m","strategy":"ddp","ranks":1,"precision":"fp32","batch":"b","items":"tokens"}
{"event":"step","step":1,"loss":2.5,"seconds":0.5,"items_per_second":8.0,"memory":{"peak_allocated":64}}
)";

/// Writes a run with a seed; without a configuration where that is below 0.
std::string write_run(const TemporaryFolder& folder, const std::string& name, int seed) {
  std::filesystem::create_directory(folder.path(name));
  folder.write(name + "/metrics.jsonl", kRun);
  if (seed >= 0) {
    folder.write(name + "/config.toml", "[train]\nseed = " + std::to_string(seed) + "\n");
  }
  return folder.path(name);
}

TEST(CompareRuns, ListsTheOptionsThatDiffer) {
  const TemporaryFolder folder;
  const Json compared = compare_runs({write_run(folder, "a", 1), write_run(folder, "b", 2)});
  ASSERT_THAT(compared["options"], SizeIs(1));
  EXPECT_EQ(compared["options"][0]["option"], "train.seed");
}

TEST(CompareRuns, ComparesTheOthersWhereTheFirstHasNoConfiguration) {
  const TemporaryFolder folder;
  const Json compared = compare_runs(
      {write_run(folder, "a", -1), write_run(folder, "b", 1), write_run(folder, "c", 2)});
  ASSERT_THAT(compared["options"], SizeIs(1));
  EXPECT_EQ(compared["options"][0]["values"], Json({nullptr, "1", "2"}));
  EXPECT_THAT(compare_page(compared), HasSubstr("no config.toml, so options unknown: a"));
}

TEST(CompareRuns, DoesNotCallConfigurationsTheSameThatAreNotThere) {
  const TemporaryFolder folder;
  const std::string page =
      compare_page(compare_runs({write_run(folder, "a", -1), write_run(folder, "b", 1)}));
  EXPECT_THAT(page, HasSubstr("there are no two configurations to compare"));
}

TEST(CompareRuns, NamesWhatAFileLacks) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("old"));
  folder.write("old/metrics.jsonl", "{\"event\":\"start\",\"model\":\"m\"}\n");
  try {
    static_cast<void>(compare_runs({folder.path("old")}));
    FAIL() << "was compared";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("without \"strategy\""));
  }
}

TEST(CompareRuns, ShowsARunThatHasOnlyBegun) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("new"));
  const std::string text(kRun);
  folder.write("new/metrics.jsonl", text.substr(0, text.find('\n') + 1));
  EXPECT_THAT(compare_page(compare_runs({folder.path("new")})), HasSubstr("not ended"));
}

TEST(Sparkline, GoesFromLowToHigh) { EXPECT_EQ(sparkline({0, 3.5, 7}, 10, 0, 7), "▁▅█"); }

TEST(Sparkline, AveragesWhatDoesNotFit) { EXPECT_EQ(sparkline({0, 0, 7, 7}, 2, 0, 7), "▁█"); }

TEST(Sparkline, StaysLowWhereAllIsTheSame) { EXPECT_EQ(sparkline({5, 5}, 9, 5, 5), "▁▁"); }

}  // namespace
}  // namespace sheaf::study
