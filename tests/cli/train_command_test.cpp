// The program as users start it: real ranks, real files, real signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/run_command.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;
using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TrainCommandTest : public ::testing::Test {
 protected:
  TrainCommandTest() { std::filesystem::create_directories(folder_); }
  ~TrainCommandTest() override { std::filesystem::remove_all(folder_); }

  /// A run of a second, but for what `more` says.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {SHEAF_PROGRAM,
                                      "train",
                                      "--model.preset=gpt2-tiny",
                                      "--model.layers=2",
                                      "--model.width=32",
                                      "--model.heads=2",
                                      "--model.context=16",
                                      "--data.source=stories",
                                      "--data.size=4000",
                                      "--train.sample_tokens=8",
                                      "--log.dir=" + folder_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  [[nodiscard]] std::vector<json> metrics() const {
    std::ifstream file(folder_ + "/metrics.jsonl");
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
  }

  std::string folder_ = ::testing::TempDir() + "sheaf_train_" + std::to_string(::getpid());
};

TEST_F(TrainCommandTest, TrainsOnTwoRanksAndOnlyTheFirstSpeaks) {
  const CommandResult result = run_command(command({"--ranks", "2", "--train.steps=4"}));
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, ContainsRegex("ranks +2, zero3 over shared"));
  EXPECT_THAT(result.out, HasSubstr("step 4/4"));
  EXPECT_THAT(result.out, HasSubstr("Done: 4 steps"));
  EXPECT_THAT(result.out, Not(HasSubstr("[1]")));
}

TEST_F(TrainCommandTest, TakesTheMeshItIsGiven) {
  const CommandResult result = run_command(command({"--ranks",
                                                    "4",
                                                    "--train.steps=2",
                                                    "--shard.stage=hybrid:zero3",
                                                    "--mesh.replicate=2",
                                                    "--mesh.shard=2"}));
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(result.out, HasSubstr("mesh replicate 2 x shard 2"));
}

TEST_F(TrainCommandTest, LeavesARecordOfEveryStep) {
  const CommandResult result = run_command(command({"--ranks", "2", "--train.steps=3"}));
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const auto lines = metrics();
  EXPECT_EQ(lines.front()["event"], "start");
  EXPECT_EQ(lines.back()["event"], "end");
  EXPECT_EQ(
      std::count_if(
          lines.begin(), lines.end(), [](const json& line) { return line["event"] == "step"; }),
      3);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/environment.json"));
}

/// The beginning of ./dev train's run.
TEST_F(TrainCommandTest, LearnsTheEmbeddedTextByTheQuickstart) {
  const CommandResult result = run_command({SHEAF_PROGRAM,
                                            "train",
                                            SHEAF_CONFIGS "/quickstart.toml",
                                            "--ranks",
                                            "2",
                                            "--train.steps=40",
                                            "--schedule.total_steps=300",
                                            "--train.evaluate=false",
                                            "--log.dir=" + folder_});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  for (const char* told : {"ROMEO:", "throughput", "MFU", "time per step", "memory per rank"}) {
    EXPECT_THAT(result.out, HasSubstr(told));
  }
  std::vector<double> losses;
  for (const json& line : metrics()) {
    if (line["event"] == "step") losses.push_back(line["loss"]);
  }
  ASSERT_EQ(losses.size(), 40U);
  EXPECT_LT(losses.back(), 0.6 * losses.front());
}

TEST_F(TrainCommandTest, RepeatsARunFromItsOwnConfiguration) {
  ASSERT_EQ(run_command(command({"--train.steps=3"})).exit_code, 0);
  const double first = metrics().back()["last_loss"];
  const CommandResult again = run_command({SHEAF_PROGRAM, "train", folder_ + "/config.toml"});
  ASSERT_EQ(again.exit_code, 0) << describe(again);
  EXPECT_EQ(metrics().back()["last_loss"], first);
}

TEST_F(TrainCommandTest, WritesAModelAndGoesOnFromIt) {
  const std::string model = folder_ + "/model";
  const CommandResult first =
      run_command(command({"--ranks", "2", "--train.steps=3", "--train.export=" + model}));
  ASSERT_EQ(first.exit_code, 0) << describe(first);
  EXPECT_THAT(first.out, ContainsRegex("exported +" + model));
  const double loss = metrics().back()["evaluation"]["loss"];
  const CommandResult next = run_command({SHEAF_PROGRAM,
                                          "train",
                                          "--ranks=3",
                                          "--model.from=" + model,
                                          "--shard.stage=zero1",
                                          "--data.source=stories",
                                          "--data.size=4000",
                                          "--optimizer.learning_rate=0",
                                          "--train.steps=1",
                                          "--log.dir=" + folder_ + "/next"});
  ASSERT_EQ(next.exit_code, 0) << describe(next);
  EXPECT_EQ(next.err, "");
  EXPECT_THAT(next.out, ContainsRegex("model +" + model));
  std::ifstream file(folder_ + "/next/metrics.jsonl");
  std::string line;
  for (std::string each; std::getline(file, each);) line = each;
  EXPECT_NEAR(json::parse(line)["evaluation"]["loss"].get<double>(), loss, 1e-6);
}

TEST_F(TrainCommandTest, SaysWhatIsWrongOnceAndStartsNoRank) {
  const CommandResult result = run_command(
      command({"--ranks", "2", "--train.steps=1", "--batch.global=9", "--batch.micro=4"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "sheaf: batch.global must be a multiple of batch.micro times the number of ranks, "
            "4 x 2 = 8, not 9\n");
}

TEST_F(TrainCommandTest, RefusesRestartsThatWouldBeginAnew) {
  const CommandResult result =
      run_command(command({"--ranks=2", "--train.steps=1", "--max-restarts=1"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("set checkpoint.dir and checkpoint.every"));
}

TEST_F(TrainCommandTest, RefusesFewerRanksThanTheMeshAllows) {
  const CommandResult result = run_command(command({"--ranks=4",
                                                    "--min-ranks=3",
                                                    "--train.steps=1",
                                                    "--mesh.shard=4",
                                                    "--batch.global=8",
                                                    "--batch.micro=1",
                                                    "--checkpoint.dir=" + folder_ + "/saved",
                                                    "--checkpoint.every=1"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--min-ranks: 3 ranks could not go on: mesh.replicate = 1"));
}

/// A signal's name and the code that a run leaves after it.
struct Stop {
  std::string signal;
  int code = 0;
};

// A scheduler's signal leaves the code that asks to be started again.
constexpr int kRequeue = 75;

class TrainCommandSignal : public TrainCommandTest, public ::testing::WithParamInterface<Stop> {};
INSTANTIATE_TEST_SUITE_P(Signals,
                         TrainCommandSignal,
                         ::testing::Values(Stop{"TERM", kRequeue},
                                           Stop{"USR1", kRequeue},
                                           Stop{"INT", 128 + SIGINT}),
                         [](const auto& stop) { return stop.param.signal; });

TEST_P(TrainCommandSignal, FinishesTheStep) {
  // Bash lets background programs ignore SIGINT. Job control would not, but would also put them
  // into a group of their own, which nobody kills at the deadline.
  std::string script = "env --default-signal=INT ";
  for (const std::string& word : command({"--ranks", "2", "--train.steps=1000000"})) {
    script += "'" + word + "' ";
  }
  // Also ends where the run does so too early.
  script += "& until grep -q '\"event\":\"step\"' " + folder_ +
            "/metrics.jsonl 2>/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.1; done; kill -" +
            GetParam().signal + " $!; wait $!";
  const CommandResult result = run_command({"bash", "-c", script});
  EXPECT_EQ(result.exit_code, GetParam().code) << describe(result);
  EXPECT_THAT(result.out, HasSubstr("interrupted by SIG" + GetParam().signal));
  EXPECT_THAT(result.err, Not(HasSubstr("error")));
  ASSERT_THAT(metrics(), Not(IsEmpty()));
  EXPECT_EQ(metrics().back()["event"], "end");
}

}  // namespace
}  // namespace sheaf::cli
