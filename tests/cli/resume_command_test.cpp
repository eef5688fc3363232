// The program as users start it, stopped and killed on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sheaf/checkpoint/folder.h"
#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;
using sheaf::testing::CommandResult;
using sheaf::testing::run_command;
using sheaf::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;

// Steps that a run takes after it was stopped.
constexpr int kMore = 10;

/// A run of seconds on two ranks with dropout and accumulation, which leaves all in `folder`.
std::vector<std::string> command(const std::string& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words = {SHEAF_PROGRAM,
                                    "train",
                                    "--ranks=2",
                                    "--model.preset=gpt2-tiny",
                                    "--model.layers=2",
                                    "--model.width=32",
                                    "--model.heads=2",
                                    "--model.context=16",
                                    "--model.dropout=0.1",
                                    "--data.source=stories",
                                    "--data.size=4000",
                                    "--batch.micro=2",
                                    "--train.sample_tokens=0",
                                    "--train.evaluate=false",
                                    "--log.dir=" + folder + "/log",
                                    "--checkpoint.dir=" + folder + "/saved",
                                    "--checkpoint.every=3"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Returns the words as one line for a shell.
std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  return line;
}

/// The loss of every step; where a step was taken twice, the last one.
std::map<std::int64_t, double> losses(const std::string& folder) {
  std::map<std::int64_t, double> found;
  std::ifstream file(folder + "/log/metrics.jsonl");
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    if (line["event"] == "step") found[line["step"]] = line["loss"];
  }
  return found;
}

/// Runs a command in the background until there is a checkpoint, then sends a signal to all of its
/// processes.
CommandResult run_and_signal(const std::vector<std::string>& words,
                             const std::string& folder,
                             const std::string& signal) {
  return run_command({"bash",
                      "-c",
                      "set -m; " + quoted(words) + "& until [ -e '" + folder +
                          "/saved/latest' ]; do sleep 0.02; done; kill -" + signal +
                          " -- -$!; wait $!"});
}

class ResumedCommand : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Signals, ResumedCommand, ::testing::Values("TERM", "KILL"));

TEST_P(ResumedCommand, EndsAsIfNothingHadHappened) {
  const TemporaryFolder whole;
  const TemporaryFolder stopped;
  const CommandResult first = run_and_signal(
      command(stopped.path(), {"--train.steps=1000000"}), stopped.path(), GetParam());
  ASSERT_NE(first.exit_code, 0) << describe(first);
  const auto before = checkpoint::steps_in(stopped.path("saved"));
  ASSERT_FALSE(before.empty());
  // Nobody knows when a signal arrives, so the run that nothing happened to comes after it.
  const std::string steps = "--train.steps=" + std::to_string(before.back() + kMore);
  const CommandResult again = run_command(command(stopped.path(), {steps}));
  ASSERT_EQ(again.exit_code, 0) << describe(again);
  EXPECT_THAT(again.err, HasSubstr("going on from"));
  const CommandResult reference = run_command(command(whole.path(), {steps}));
  ASSERT_EQ(reference.exit_code, 0) << describe(reference);
  const auto expected = losses(whole.path());
  int resumed = 0;
  for (const auto& [step, loss] : losses(stopped.path())) {
    // The stopped run may have been further than what it saved last.
    if (!expected.contains(step)) continue;
    EXPECT_EQ(loss, expected.at(step)) << "step " << step;
    resumed += step > before.back() ? 1 : 0;
  }
  EXPECT_EQ(resumed, kMore);
  for (const auto& each : std::filesystem::directory_iterator(stopped.path("saved"))) {
    EXPECT_THAT(each.path().string(), Not(HasSubstr("unfinished")));
  }
}

TEST(ResumedCommand, RefusesAFolderThatAnotherRunUses) {
  const TemporaryFolder folder;
  const checkpoint::FolderLock lock(folder.path("saved"));
  const CommandResult result = run_command(command(folder.path(), {"--train.steps=4"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("another process works on these checkpoints"));
}

TEST(ResumedCommand, GoesOnToItsEndWhenTheDiskIsFull) {
  if (run_command({"unshare", "-rm", "true"}).exit_code != 0) {
    GTEST_SKIP() << "a small disk needs a mount of its own, which this machine does not allow";
  }
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("saved"));
  const CommandResult result =
      run_command({"unshare",
                   "-rm",
                   "bash",
                   "-c",
                   "mount -t tmpfs -o size=200k tmpfs " + folder.path("saved") + " && " +
                       quoted(command(folder.path(), {"--train.steps=8"})) + "; code=$?; ls " +
                       folder.path("saved") + "; exit $code"});
  EXPECT_EQ(result.exit_code, 1) << describe(result);
  EXPECT_THAT(result.err, HasSubstr("could not be saved, training goes on"));
  EXPECT_THAT(result.err, HasSubstr("the end of the run could not be saved"));
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
  EXPECT_THAT(result.out, HasSubstr("Done: 8 steps"));
  EXPECT_THAT(result.out, Not(HasSubstr("step-0")));
}

}  // namespace
}  // namespace sheaf::cli
