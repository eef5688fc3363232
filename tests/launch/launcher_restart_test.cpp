#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "launch/launcher_process.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

// Rank 1 runs `script` in the first generation, all others do their work.
LaunchOptions first_generation(const std::string& script) {
  auto options = bash(2,
                      "echo generation $SHEAF_GENERATION; [ $SHEAF_GENERATION = 0 ] || exit 0; "
                      "if [ $RANK = 1 ]; then " +
                          script + "; fi; while :; do sleep 0.01; done");
  options.max_restarts = 3;
  return options;
}

TEST(LauncherRestart, StartsAllRanksAgainWhenOneDies) {
  for (const std::string death : {"kill -KILL $$", "exit 3", "kill -SEGV $$"}) {
    const auto result = run_launcher(first_generation(death));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error launch: rank 1 "));
    EXPECT_THAT(result.err, HasSubstr("info launch: generation 1 starts with 2 ranks\n"));
    EXPECT_THAT(result.out, HasSubstr("[0] generation 1\n"));
    EXPECT_THAT(result.out, HasSubstr("[1] generation 1\n"));
  }
}

TEST(LauncherRestart, DoesNotRepeatWrongUsage) {
  const auto result = run_launcher(first_generation("exit 2"));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, Not(HasSubstr("generation 1")));
}

TEST(LauncherRestart, PassesOnTheCodeThatAsksToBeStartedAgain) {
  auto options = bash(2, "trap 'exit 75' TERM; [ $RANK = 1 ] && exit 75; " + wait_for("/nowhere"));
  options.max_restarts = 3;
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, kRequeueCode);
  EXPECT_THAT(result.err, Not(HasSubstr("launch: ")));
}

TEST(LauncherRestart, GivesUpAfterTheLast) {
  auto options = bash(2, "[ $RANK = 1 ] && exit 5; sleep 1000");
  options.max_restarts = 2;
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("generation 2 starts"));
  EXPECT_THAT(result.err, Not(HasSubstr("generation 3")));
  EXPECT_THAT(result.err, HasSubstr("gives up: the run died again after 2 restarts"));
}

TEST(LauncherRestart, DoesNotFollowACtrlC) {
  const TemporaryFolder folder;
  // Without a trap bash forgets a signal that comes while its child ends by itself.
  auto options = bash(
      2, "trap 'exit 130' INT; touch " + folder.file("$RANK") + "; while :; do sleep 0.01; done");
  options.max_restarts = 3;
  LauncherProcess launcher(options);
  ASSERT_TRUE(eventually([&] { return folder.has("0") && folder.has("1"); }));
  launcher.send(SIGINT);
  EXPECT_EQ(launcher.wait(), 128 + SIGINT);
  EXPECT_THAT(launcher.err(), Not(HasSubstr("generation 1")));
}

// Rank 1 has died and rank 0 takes its time to end when a signal asks the launcher to leave.
class LauncherRestartSignal : public testing::TestWithParam<int> {
 protected:
  int code_of(int max_restarts) {
    auto options = bash(2,
                        "if [ $RANK = 1 ]; then " + wait_for(folder_.file("ready")) +
                            "exit 9; fi; trap '' TERM; touch " + folder_.file("ready") + "; " +
                            wait_for(folder_.file("go")));
    options.max_restarts = max_restarts;
    options.failure_grace = Seconds(60);
    LauncherProcess launcher(options);
    EXPECT_TRUE(eventually([&] { return launcher.err().find("rank 1 ") != std::string::npos; }));
    launcher.send(GetParam());
    folder_.touch("go");
    const int code = launcher.wait();
    EXPECT_THAT(launcher.err(), Not(HasSubstr("generation 1")));
    return code;
  }

  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Signals, LauncherRestartSignal, testing::Values(SIGTERM, SIGUSR1));

TEST_P(LauncherRestartSignal, AsksToBeStartedAgainInsteadOfGoingOn) {
  EXPECT_EQ(code_of(3), kRequeueCode);
}

TEST_P(LauncherRestartSignal, KeepsTheCodeOfAFailureThatNothingFollows) {
  EXPECT_EQ(code_of(0), 9);
}

TEST(LauncherRestart, NamesTheLastStepAndStopsWhereNothingMoves) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  LaunchOptions options{.ranks = 2, .command = {self, "--role=die-at-step-7"}};
  options.max_restarts = 100;
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, 128 + SIGKILL);
  EXPECT_THAT(result.err, HasSubstr(" after step 7\n"));
  EXPECT_THAT(result.err,
              HasSubstr("gives up: the run died 3 times in a row without getting past step 7"));
}

TEST(LauncherRestart, LeavesOutASlotThatDiesAgainAndAgain) {
  const TemporaryFolder folder;
  auto options = bash(3,
                      "[ $LOCAL_RANK = 1 ] && exit 9; [ $WORLD_SIZE = 2 ] || sleep 1000; "
                      "echo rank $RANK of $WORLD_SIZE in slot $LOCAL_RANK");
  options.max_restarts = 5;
  options.min_ranks = 2;
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("slot 1 of node 0 is left out"));
  EXPECT_THAT(result.out, HasSubstr("[0] rank 0 of 2 in slot 0\n"));
  EXPECT_THAT(result.out, HasSubstr("[1] rank 1 of 2 in slot 2\n"));
}

// Ranks that save when they are told to end, and are done when the file "done" is there.
class LauncherRanksFile : public testing::Test {
 protected:
  LauncherRanksFile() {
    options_ = bash(4,
                    "trap 'exit 75' TERM; touch " + folder_.file("${SHEAF_GENERATION}_$RANK") +
                        "; " + wait_for(folder_.file("done")));
    options_.min_ranks = 2;
    options_.ranks_file = folder_.file("ranks");
  }
  void ask_for(const std::string& ranks) const {
    std::ofstream(folder_.file("new")) << ranks << "\n";
    std::filesystem::rename(folder_.file("new"), folder_.file("ranks"));
  }
  [[nodiscard]] bool started(int generation, int ranks) const {
    // All of them: one without its trap would not save.
    return eventually([&] {
      for (int rank = 0; rank < ranks; ++rank) {
        if (!folder_.has(std::to_string(generation) + "_" + std::to_string(rank))) return false;
      }
      return true;
    });
  }

  TemporaryFolder folder_;
  LaunchOptions options_;
};

TEST_F(LauncherRanksFile, ShrinksAndGrowsTheJob) {
  LauncherProcess launcher(options_);
  ASSERT_TRUE(started(0, 4));
  ask_for("3");
  ASSERT_TRUE(started(1, 3));
  ask_for("4");
  ASSERT_TRUE(started(2, 4));
  folder_.touch("done");
  EXPECT_EQ(launcher.wait(), 0) << launcher.err();
  EXPECT_FALSE(folder_.has("1_3"));
  EXPECT_THAT(launcher.err(), HasSubstr("to go on as 3 instead of 4"));
  EXPECT_THAT(launcher.err(), Not(HasSubstr("error")));
}

TEST_F(LauncherRanksFile, IsReadAtTheStart) {
  ask_for("2");
  LauncherProcess launcher(options_);
  ASSERT_TRUE(started(0, 2));
  folder_.touch("done");
  EXPECT_EQ(launcher.wait(), 0) << launcher.err();
  EXPECT_FALSE(folder_.has("0_2"));
}

TEST_F(LauncherRanksFile, IsPassedOverWhereItMakesNoSense) {
  LauncherProcess launcher(options_);
  ASSERT_TRUE(started(0, 4));
  for (const std::string text : {"1", "5", "-3", "all", "3x"}) {
    ask_for(text);
    EXPECT_TRUE(eventually([&] {
      return launcher.err().find("from 2 to 4, not '" + text + "'") != std::string::npos;
    }));
  }
  folder_.touch("done");
  EXPECT_EQ(launcher.wait(), 0) << launcher.err();
}

TEST_F(LauncherRanksFile, CountsNoRestart) {
  options_.max_restarts = 0;
  LauncherProcess launcher(options_);
  ASSERT_TRUE(started(0, 4));
  ask_for("2");
  ASSERT_TRUE(started(1, 2));
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), kRequeueCode);
}

}  // namespace
}  // namespace sheaf::launch
