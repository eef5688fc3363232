// A trace that sheaf records, as Perfetto's trace processor reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/run_command.h"
#include "support/temporary_folder.h"
#include "torchrun.h"

namespace sheaf {
namespace {

using nlohmann::json;

const std::string kProcessor = [] {
  const char* given = std::getenv("SHEAF_TRACE_PROCESSOR");
  return given != nullptr ? given : SHEAF_SOURCE_DIR "/.deps/trace_processor";
}();

class Perfetto : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto torchrun = testing::find_torchrun();
    if (!torchrun) GTEST_SKIP() << testing::kInstallTorchrun;
    python_ = std::filesystem::path(*torchrun).parent_path() / "python3";
    const auto checked =
        testing::run_command({python_, SHEAF_PERFETTO_PEER, "--check", kProcessor});
    if (checked.exit_code != 0) {
      GTEST_SKIP() << "Perfetto's trace processor is not in " << kProcessor
                   << ", or node or the package perfetto is missing: ./dev test installs them";
    }
    const auto trained = testing::run_command({SHEAF_PROGRAM,
                                               "train",
                                               "--ranks=2",
                                               "--model.preset=gpt2-tiny",
                                               "--data.source=stories",
                                               "--data.size=4000",
                                               "--train.steps=4",
                                               "--train.sample_tokens=0",
                                               "--profile.steps=2:3",
                                               "--log.dir=" + folder_.path()});
    ASSERT_EQ(trained.exit_code, 0) << testing::describe(trained);
  }

  [[nodiscard]] json query(const std::string& trace, const std::string& text) const {
    const auto result =
        testing::run_command({python_, SHEAF_PERFETTO_PEER, kProcessor, folder_.path(trace), text});
    EXPECT_EQ(result.exit_code, 0) << testing::describe(result);
    return result.exit_code == 0 ? json::parse(result.out) : json();
  }

  testing::TemporaryFolder folder_;

 private:
  std::string python_;
};

TEST_F(Perfetto, FindsTheNamedRangesByQuery) {
  const json found = query("trace_rank0.json",
                           "select name, count(*) as ranges from slice where category = 'sheaf' "
                           "group by name");
  std::vector<std::string> names;
  for (const json& row : found) names.push_back(row.at("name"));
  EXPECT_THAT(
      names,
      ::testing::IsSupersetOf({"step 2", "step 3", "data", "forward", "backward", "optimizer"}));
  EXPECT_THAT(names, ::testing::Contains(::testing::StartsWith("gather ")));
  EXPECT_THAT(names, ::testing::Contains(::testing::StartsWith("reduce ")));
}

// It drops ranges that begin inside of another and end after it, and counts them.
TEST_F(Perfetto, LosesNothing) {
  for (const char* trace : {"trace_rank0.json", "trace.json"}) {
    const json lost = query(trace,
                            "select name, value from stats where value > 0 and (severity = 'error' "
                            "or severity = 'data_loss')");
    EXPECT_EQ(lost, json::array()) << trace;
  }
}

TEST_F(Perfetto, FindsBothRanksInTheMergedTrace) {
  const json found = query("trace.json",
                           "select count(distinct upid) as ranks from slice join thread_track on "
                           "slice.track_id = thread_track.id join thread using (utid) where "
                           "slice.name = 'step 2'");
  EXPECT_EQ(found.at(0).at("ranks"), 2);
}

}  // namespace
}  // namespace sheaf
