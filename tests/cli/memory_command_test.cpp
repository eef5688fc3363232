// The program as users start it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;
using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

CommandResult memory(const std::vector<std::string>& more) {
  std::vector<std::string> command{SHEAF_PROGRAM,
                                   "memory",
                                   "--model.preset=gpt2-tiny",
                                   "--data.source=random",
                                   "--data.size=20000",
                                   "--batch.global=8"};
  command.insert(command.end(), more.begin(), more.end());
  return run_command(command);
}

TEST(MemoryCommand, PrintsPredictionBesideMeasurement) {
  const CommandResult result = memory({"--ranks=2"});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, ContainsRegex("peak .* predicted .* error [+-][0-9.]+ %"));
  EXPECT_THAT(result.out, ContainsRegex("were activations of blocks 0-3"));
  EXPECT_THAT(result.out, HasSubstr("over the step"));
  EXPECT_THAT(result.out, HasSubstr("peak of the whole process"));
}

TEST(MemoryCommand, AccountsForEveryByteOfThePeak) {
  const CommandResult result = memory({"--ranks=2", "--json", "--shard.stage=zero2"});
  ASSERT_EQ(result.exit_code, 0) << describe(result);
  const json page = json::parse(result.out);
  const json& measured = page["measured"];
  std::int64_t sum = 0;
  for (const auto& [purpose, bytes] : measured["at_peak"].items()) sum += bytes.get<std::int64_t>();
  EXPECT_EQ(sum, measured["peak"].get<std::int64_t>());
  EXPECT_EQ(measured["resting"]["parameters"], page["predicted"]["resting"]["parameters"]);
  EXPECT_LT(std::abs(page["error"].get<double>()), 0.05);
  EXPECT_EQ(page["step"], 3);
}

TEST(MemoryCommand, MeasuresRunsWithoutAPrediction) {
  const CommandResult result = memory({"--shard.min_parameters=1000"});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(result.out, HasSubstr("there is no prediction for such a run"));
}

TEST(MemoryCommand, LeavesCheckpointsAndTracesAlone) {
  const testing::TemporaryFolder folder;
  const CommandResult result = memory({"--checkpoint.dir=" + folder.path("saved"),
                                       "--checkpoint.every=1",
                                       "--checkpoint.keep_best=true",
                                       "--train.evaluate_every=1",
                                       "--profile.steps=1:2",
                                       "--log.dir=" + folder.path("log")});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(folder.names(), ::testing::IsEmpty());
}

TEST(MemoryCommand, MeasuresSeveralSteps) {
  const CommandResult one = memory({"--step=3", "--json"});
  const CommandResult three = memory({"--step=3", "--steps=3", "--json"});
  ASSERT_EQ(one.exit_code, 0) << describe(one);
  ASSERT_EQ(three.exit_code, 0) << describe(three);
  const json last = json::parse(one.out)["measured"];
  const json all = json::parse(three.out)["measured"];
  EXPECT_EQ(json::parse(three.out)["steps"], 3);
  EXPECT_EQ(all["timeline"].size(), 3 * last["timeline"].size());
  // Before the first step the optimizer has no states yet.
  EXPECT_EQ(all["resting"]["optimizer"], 0);
  EXPECT_GT(last["resting"]["optimizer"], 0);
}

TEST(MemoryCommand, RefusesMoreStepsThanThereAre) {
  const CommandResult result = memory({"--step=2", "--steps=3"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("at most --step"));
}

TEST(MemoryCommand, RefusesASnapshotOfTheCpu) {
  const CommandResult result = memory({"--snapshot=x.pickle"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--comm.device=cuda"));
}

}  // namespace
}  // namespace sheaf::cli
