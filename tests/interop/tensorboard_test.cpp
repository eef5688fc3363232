// The event files that sheaf writes, as TensorBoard reads them.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sheaf/train/sinks.h"
#include "support/run_command.h"
#include "torchrun.h"
#include "train/sample_run.h"

namespace sheaf {
namespace {

using nlohmann::json;
using testing::sample_info;
using testing::sample_progress;
using testing::sample_step;

class Tensorboard : public ::testing::Test {
 protected:
  // The Python that has torch should have TensorBoard too.
  void SetUp() override {
    const auto torchrun = testing::find_torchrun();
    if (!torchrun) GTEST_SKIP() << testing::kInstallTorchrun;
    python_ = std::filesystem::path(*torchrun).parent_path() / "python3";
    const auto checked = testing::run_command({python_, SHEAF_TENSORBOARD_PEER, "--check"});
    if (checked.exit_code != 0) {
      GTEST_SKIP() << "TensorBoard is not installed: run '" << python_
                   << " -m pip install tensorboard'";
    }
  }

  [[nodiscard]] json read() const {
    const auto result =
        testing::run_command({python_, SHEAF_TENSORBOARD_PEER, folder_.path().string()});
    EXPECT_EQ(result.exit_code, 0) << testing::describe(result);
    return result.exit_code == 0 ? json::parse(result.out) : json();
  }

  testing::TemporaryFolder folder_;

 private:
  std::string python_;
};

TEST_F(Tensorboard, ReadsEveryScalarOfARun) {
  const auto sink = train::tensorboard_sink(folder_.path());
  sink->start(sample_info());
  for (const std::int64_t number : {1, 2, 300}) {
    train::StepRecord step = sample_step(number);
    step.loss = 1.0 / static_cast<double>(number);
    sink->step(step, sample_progress());
  }
  auto evaluation = testing::sample_evaluation();
  evaluation.accuracy = 0.75;
  sink->evaluation(evaluation);

  const json scalars = read()["scalars"];
  EXPECT_EQ(scalars["loss"],
            json::parse(R"([[1, "1.0"], [2, "0.5"], [300, "0.0033333334140479565"]])"));
  EXPECT_EQ(scalars["gradient_norm"][2], json::parse(R"([300, "1.25"])"));
  EXPECT_EQ(scalars["tokens_per_second"][0], json::parse(R"([1, "2000.0"])"));
  EXPECT_EQ(scalars["memory/allocated_gib"][0], json::parse(R"([1, "0.5"])"));
  EXPECT_EQ(scalars["time/step_ms"][0], json::parse(R"([1, "500.0"])"));
  EXPECT_EQ(scalars["evaluation/loss"], json::parse(R"([[100, "2.0"]])"));
  EXPECT_EQ(scalars["evaluation/accuracy"], json::parse(R"([[100, "0.75"]])"));
  EXPECT_TRUE(scalars.contains("learning_rate"));
  EXPECT_TRUE(scalars.contains("mfu"));
}

TEST_F(Tensorboard, ReadsALossThatIsNoNumber) {
  const auto sink = train::tensorboard_sink(folder_.path());
  sink->start(sample_info());
  train::StepRecord step = sample_step(1);
  step.loss = NAN;
  sink->step(step, sample_progress());
  EXPECT_EQ(read()["scalars"]["loss"], json::parse(R"([[1, "nan"]])"));
}

TEST_F(Tensorboard, ReadsVersionAndTime) {
  const auto sink = train::tensorboard_sink(folder_.path());
  sink->start(sample_info());
  sink->step(sample_step(1), sample_progress());
  const json all = read();
  EXPECT_EQ(all["file_version"], 2.0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(all["wall_times"][0], Seconds(now).count(), 3600);
}

TEST_F(Tensorboard, ReadsSamplesAsTexts) {
  const auto sink = train::tensorboard_sink(folder_.path());
  sink->start(sample_info());
  sink->step(sample_step(1), sample_progress());
  sink->sample(7, "one\ntwo \u00e9\xff");
  EXPECT_EQ(read()["texts"]["sample"], json({{7, "    one\n    two \u00e9\\xFF\n"}}));
}

}  // namespace
}  // namespace sheaf
