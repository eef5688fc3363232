#include "sheaf/train/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sheaf/base/error.h"
#include "sheaf/train/sinks.h"

namespace sheaf::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class BaselineTest : public testing::Test {
 protected:
  BaselineTest() { std::filesystem::create_directories(folder_); }
  ~BaselineTest() override { std::filesystem::remove_all(folder_); }

  /// Writes a run as the trainer does.
  void write_run(int ranks, double seconds, const std::string& interrupted = "") const {
    const auto sink = json_sink(folder_);
    sink->start({.item_name = "images", .ranks = ranks, .strategy = "ddp"});
    Summary summary;
    summary.progress.elapsed = Seconds(seconds);
    summary.progress.items_per_second = 1000;
    summary.evaluation = EvaluationRecord{.loss = 0.1, .accuracy = 0.97};
    summary.interrupted = interrupted;
    sink->end(summary);
  }

  std::string folder_ = testing::TempDir() + "sheaf_baseline_" + std::to_string(::getpid());
};

TEST_F(BaselineTest, ReadsTheLastRun) {
  write_run(1, 50);
  write_run(2, 30);
  const Baseline baseline = read_baseline(folder_);
  EXPECT_EQ(baseline.ranks, 2);
  EXPECT_EQ(baseline.elapsed, Seconds(30));
  EXPECT_EQ(baseline.accuracy, 0.97);
}

TEST_F(BaselineTest, RefusesAFolderWithoutARun) {
  EXPECT_THAT([&] { static_cast<void>(read_baseline(folder_)); },
              ThrowsMessage<UsageError>(HasSubstr("has no metrics.jsonl")));
}

TEST_F(BaselineTest, RefusesARunThatDidNotEnd) {
  write_run(1, 50);
  write_run(1, 50, "interrupted by SIGTERM");
  EXPECT_THAT([&] { static_cast<void>(read_baseline(folder_)); },
              ThrowsMessage<UsageError>(HasSubstr("did not come to its end")));
}

TEST_F(BaselineTest, SurvivesLinesThatAreNoRecords) {
  write_run(1, 50);
  std::ofstream(folder_ + "/metrics.jsonl", std::ios::app)
      << "{\"event\": \nnull\n[1]\n{\"a\":1}\n";
  EXPECT_EQ(read_baseline(folder_).elapsed, Seconds(50));
}

TEST_F(BaselineTest, SurvivesRecordsOfAnotherShape) {
  write_run(2, 50);
  std::ofstream(folder_ + "/metrics.jsonl", std::ios::app) << R"({"event": 5}
{"event": "start", "ranks": "many", "strategy": 3}
{"event": "end"}
{"event": "start", "ranks": -1}
{"event": "end", "interrupted": null, "elapsed_seconds": "long", "evaluation": [1]}
)";
  const Baseline baseline = read_baseline(folder_);
  EXPECT_EQ(baseline.ranks, 1);
  EXPECT_EQ(baseline.strategy, "");
  EXPECT_EQ(baseline.elapsed, Seconds(0));
  EXPECT_FALSE(baseline.evaluation_loss || baseline.accuracy);
}

TEST_F(BaselineTest, ComparesTimesAndResults) {
  write_run(1, 50);
  std::ostringstream out;
  const auto sink = baseline_sink(out, read_baseline(folder_));
  sink->start({.item_name = "images", .ranks = 2, .strategy = "zero3"});
  Summary summary;
  summary.progress.elapsed = Seconds(25);
  summary.evaluation = EvaluationRecord{.accuracy = 0.98};
  sink->end(summary);
  EXPECT_THAT(out.str(), HasSubstr("97.00 % right"));
  EXPECT_THAT(out.str(), HasSubstr("98.00 % right"));
  EXPECT_THAT(out.str(), HasSubstr("speed-up 2.00x"));
}

}  // namespace
}  // namespace sheaf::train
