#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "launch/launcher_process.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// Writes its process id to `folder`/<rank>, all at once.
std::string sign_in(const TemporaryFolder& folder) {
  const auto file = folder.file("$RANK");
  return "echo $$ > \"" + file + ".new\"; mv \"" + file + ".new\" \"" + file + "\"; ";
}

bool rank_is_gone(const TemporaryFolder& folder, const std::string& rank) {
  return is_gone(std::stoi(folder.read(rank)));
}

TEST(LauncherFailure, EndsTheOthersAndNamesTheRankThatFailed) {
  const TemporaryFolder folder;
  const auto wait_for_others = wait_for(folder.file("0")) + wait_for(folder.file("2"));
  const auto result = run_launcher(bash(
      3, sign_in(folder) + "if [ $RANK = 1 ]; then " + wait_for_others + "exit 3; fi; sleep 1000"));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err,
              MatchesRegex("error launch: rank 1 \\(pid [0-9]+ on .+\\) exited with code 3\n"));
  EXPECT_TRUE(rank_is_gone(folder, "0"));
  EXPECT_TRUE(rank_is_gone(folder, "2"));
}

TEST(LauncherFailure, KillsARankThatIgnoresBeingTold) {
  const TemporaryFolder folder;
  const auto result =
      run_launcher(bash(2,
                        "trap '' TERM; " + sign_in(folder) + "if [ $RANK = 1 ]; then " +
                            wait_for(folder.file("0")) + "exit 4; fi; while :; do sleep 1; done"));
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("rank 1 "));
  EXPECT_TRUE(rank_is_gone(folder, "0"));
}

TEST(LauncherFailure, TellsWhichSignalKilledARank) {
  const auto result = run_launcher(bash(2, "[ $RANK = 1 ] && kill -KILL $$; sleep 1000"));
  EXPECT_EQ(result.code, 137);
  // Whether it was the kernel, for want of memory, is not always known, and what it does meanwhile
  // to another process of the control group looks the same.
  EXPECT_THAT(result.err,
              MatchesRegex("error launch: rank 1 \\(pid [0-9]+ on .+\\) was killed by signal 9 "
                           "\\(SIGKILL\\)(, perhaps by .+| by the kernel's .+)?\n"));
}

TEST(LauncherFailure, ShowsTheLastWordsBeforeTheVerdict) {
  const auto result = run_launcher(bash(1, "echo last words >&2; exit 9"));
  EXPECT_THAT(result.err, MatchesRegex("\\[0\\] last words\nerror launch: rank 0 .*code 9\n"));
}

TEST(LauncherFailure, LetsTheOthersSayWhatTheyHaveSaved) {
  const TemporaryFolder folder;
  auto options = bash(2,
                      "if [ $RANK = 1 ]; then " + wait_for(folder.file("0")) +
                          "exit 6; fi; trap 'echo saved; exit 0' TERM; " + sign_in(folder) +
                          "while :; do sleep 0.01; done");
  options.failure_grace = Seconds(30);
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, 6);
  EXPECT_EQ(result.out, "[0] saved\n");
}

TEST(LauncherFailure, LeavesNoGrandchildBehind) {
  const TemporaryFolder folder;
  const auto file = folder.file("grandchild");
  const auto result = run_launcher(bash(1, "sleep 1000 & echo $! > " + file + "; exit 5"));
  EXPECT_EQ(result.code, 5);
  EXPECT_TRUE(eventually([&] { return rank_is_gone(folder, "grandchild"); }));
}

TEST(LauncherFailure, EndsTheRanksWhenNobodyReadsTheOutput) {
  const TemporaryFolder folder;
  LauncherProcess launcher([&] {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    return launch(bash(2,
                       sign_in(folder) + wait_for(folder.file("0")) + wait_for(folder.file("1")) +
                           "while echo text; do sleep 0.01; done; sleep 1000"));
  });
  EXPECT_EQ(launcher.wait(), 128 + SIGPIPE);
  EXPECT_THAT(launcher.err(), HasSubstr("nobody reads the standard output"));
  EXPECT_TRUE(rank_is_gone(folder, "0"));
  EXPECT_TRUE(rank_is_gone(folder, "1"));
}

TEST(LauncherFailure, TakesTheRanksAlongWhenItIsKilled) {
  const TemporaryFolder folder;
  LauncherProcess launcher(bash(2, sign_in(folder) + "while :; do sleep 1; done"));
  ASSERT_TRUE(eventually([&] { return folder.has("0") && folder.has("1"); }));
  launcher.send(SIGKILL);
  EXPECT_EQ(launcher.wait(), 137);
  EXPECT_TRUE(eventually([&] { return rank_is_gone(folder, "0") && rank_is_gone(folder, "1"); }));
}

}  // namespace
}  // namespace sheaf::launch
