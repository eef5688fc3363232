// Drills with the program as users start it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/comm/watch.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using sheaf::testing::CommandResult;
using sheaf::testing::describe;
using sheaf::testing::run_command;
using sheaf::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// A run of one process that nobody starts.
CommandResult train_alone(const TemporaryFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words = {SHEAF_PROGRAM,
                                    "train",
                                    "--model.preset=gpt2-tiny",
                                    "--model.layers=2",
                                    "--model.width=32",
                                    "--model.heads=2",
                                    "--model.context=16",
                                    "--data.source=stories",
                                    "--data.size=4000",
                                    "--batch.global=12",
                                    "--train.steps=5",
                                    "--train.sample_tokens=0",
                                    "--train.evaluate=false",
                                    "--shard.stage=zero3",
                                    "--log.dir=" + folder.path("log"),
                                    "--checkpoint.dir=" + folder.path("saved"),
                                    "--checkpoint.every=2"};
  words.insert(words.end(), more.begin(), more.end());
  return run_command(words);
}

CommandResult train(const TemporaryFolder& folder, std::vector<std::string> more) {
  more.emplace_back("--ranks=3");
  return train_alone(folder, more);
}

TEST(Drill, NamesBothCallsWhenARankSkipsAUnit) {
  const TemporaryFolder folder;
  const auto result =
      train(folder, {"--fault.inject=drop_call:rank=1:step=3:unit=transformer.h.1"});
  EXPECT_EQ(result.exit_code, comm::kWatchExitCode) << describe(result);
  EXPECT_THAT(result.err,
              AllOf(ContainsRegex("rank 1 called all_gather of [0-9]+ bytes of Float for unit "
                                  "transformer.h.0"),
                    // Those who have come by then.
                    ContainsRegex("ranks? [02]( and 2)? called all_gather of [0-9]+ bytes of Float "
                                  "for unit transformer.h.1"),
                    ContainsRegex("found [0-9.]+ (s|ms|us) after the first of them")));
  EXPECT_THAT(folder.read("log/watch-rank-2.txt"), HasSubstr("last calls of rank 2"));
  // One of them is in the call; the other may still be on its way there.
  EXPECT_THAT(folder.read("log/watch-rank-0.txt") + folder.read("log/watch-rank-2.txt"),
              ContainsRegex("sheaf::comm::(Work::wait|Lane::run_next)"));
}

TEST(Drill, NamesARankThatIsStopped) {
  const TemporaryFolder folder;
  const auto result = train(folder, {"--fault.timeout=5s", "--fault.inject=stop:rank=1:step=3"});
  EXPECT_EQ(result.exit_code, comm::kWatchExitCode) << describe(result);
  EXPECT_THAT(result.err,
              ContainsRegex("has waited [0-9.]+ s for rank 1 .pid [0-9]+ on .*, which is stopped "
                            "by a signal"));
  EXPECT_THAT(folder.read("log/watch-rank-1.txt"), HasSubstr("which is stopped by a signal"));
}

TEST(Drill, KillsARankOnceAndTheRunGoesOn) {
  const TemporaryFolder folder;
  const std::vector<std::string> kill = {"--fault.inject=kill:rank=1:step=4"};
  const auto first = train(folder, kill);
  EXPECT_NE(first.exit_code, 0);
  EXPECT_THAT(first.err, HasSubstr("fault at step 4: kill:rank=1:step=4"));
  const auto second = train(folder, kill);
  EXPECT_EQ(second.exit_code, 0) << describe(second);
  EXPECT_THAT(second.err, HasSubstr("has happened in this run already: kill:rank=1:step=4"));
}

// A launcher would set the variable anew.
TEST(Drill, LeavesRestartedRunsAlone) {
  const TemporaryFolder folder;
  ::setenv("SHEAF_GENERATION", "1", /*overwrite=*/1);
  const auto result = train_alone(folder, {"--fault.inject=kill:rank=0:step=4"});
  ::unsetenv("SHEAF_GENERATION");
  EXPECT_EQ(result.exit_code, 0) << describe(result);
}

TEST(Drill, DelaysACallThatOthersWaitFor) {
  const TemporaryFolder folder;
  const auto result = train(folder, {"--fault.inject=delay_call:rank=1:step=3:unit=h.0:time=50ms"});
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  EXPECT_THAT(result.err, HasSubstr("fault at step 3: delay_call"));
}

TEST(Drill, RefusesAFaultThatCannotBe) {
  const TemporaryFolder folder;
  const auto result = train(folder, {"--fault.inject=kill:rank=3:step=1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("there are 3 ranks, counted from 0"));
}

}  // namespace
}  // namespace sheaf::cli
