#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "launch/launcher_process.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;

// Ranks run `setup`, say that they are ready and wait for signals or for the file "go".
class LauncherSignal : public testing::Test {
 protected:
  LaunchOptions ranks(const std::string& setup) {
    return bash(2,
                setup + "; touch " + folder_.file("ready$RANK") + "; " +
                    wait_for(folder_.file("go")) + "exit 0");
  }
  [[nodiscard]] bool both_ready() const {
    return eventually([&] { return folder_.has("ready0") && folder_.has("ready1"); });
  }

  TemporaryFolder folder_;
};

bool says(const LauncherProcess& launcher, const std::string& text) {
  return eventually([&] { return launcher.err().find(text) != std::string::npos; });
}

TEST_F(LauncherSignal, ReachesEveryRankAsItIs) {
  LauncherProcess launcher(ranks("trap 'echo one >&2' USR1; trap 'echo two >&2' USR2"));
  ASSERT_TRUE(both_ready());
  launcher.send(SIGUSR1);
  EXPECT_TRUE(says(launcher, "[0] one\n") && says(launcher, "[1] one\n"));
  launcher.send(SIGUSR2);
  EXPECT_TRUE(says(launcher, "[0] two\n") && says(launcher, "[1] two\n"));
  folder_.touch("go");
  EXPECT_EQ(launcher.wait(), 0);
}

TEST_F(LauncherSignal, GivesItsOwnCodeWhenRanksEndWell) {
  LauncherProcess launcher(ranks("trap 'echo saved; exit 0' TERM"));
  ASSERT_TRUE(both_ready());
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), 128 + SIGTERM);
  EXPECT_THAT(launcher.out(), HasSubstr("[0] saved\n"));
  EXPECT_THAT(launcher.out(), HasSubstr("[1] saved\n"));
}

// One rank is gone before the other has saved: what that one asks for counts.
TEST_F(LauncherSignal, AsksToBeStartedAgainIfOneRankDoes) {
  const std::string gone = folder_.file("gone");
  LauncherProcess launcher(ranks("if [ $RANK = 1 ]; then trap 'touch " + gone +
                                 "; trap - TERM; kill -TERM $$' TERM; else trap '" +
                                 wait_for(gone) + "exit 75' TERM; fi"));
  ASSERT_TRUE(both_ready());
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), kRequeueCode);
  EXPECT_THAT(launcher.err(), testing::Not(HasSubstr("error")));
}

TEST_F(LauncherSignal, GivesTheCodeOfARankThatFailsMeanwhile) {
  LauncherProcess launcher(ranks("trap 'exit 7' HUP"));
  ASSERT_TRUE(both_ready());
  launcher.send(SIGHUP);
  EXPECT_EQ(launcher.wait(), 7);
}

TEST_F(LauncherSignal, DoesNotBlameARankThatDiesOfIt) {
  LauncherProcess launcher(ranks("true"));
  ASSERT_TRUE(both_ready());
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), 128 + SIGTERM);
  EXPECT_THAT(launcher.err(), testing::Not(HasSubstr("error")));
}

TEST_F(LauncherSignal, KillsWhenItComesTwice) {
  LauncherProcess launcher(ranks("trap '' INT"));
  ASSERT_TRUE(both_ready());
  launcher.send(SIGINT);
  ASSERT_TRUE(says(launcher, "SIGINT goes to all ranks"));
  launcher.send(SIGINT);
  EXPECT_EQ(launcher.wait(), 137);
}

TEST_F(LauncherSignal, KillsWhenTheGraceIsOver) {
  auto options = ranks("trap '' TERM");
  options.signal_grace = Seconds(0.1);
  LauncherProcess launcher(options);
  ASSERT_TRUE(both_ready());
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait(), 137);
}

TEST_F(LauncherSignal, StaysIgnoredUnderNohup) {
  LauncherProcess launcher([&] {
    ::signal(SIGHUP, SIG_IGN);
    return launch(ranks("true"));
  });
  ASSERT_TRUE(both_ready());
  launcher.send(SIGHUP);
  folder_.touch("go");
  EXPECT_EQ(launcher.wait(), 0);
  EXPECT_EQ(launcher.err(), "");
}

TEST_F(LauncherSignal, IsHeardWhileNobodyTakesTheOutput) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LauncherProcess launcher([&] {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    return launch(bash(2, "touch " + folder_.file("ready$RANK") + "; yes"));
  });
  ASSERT_TRUE(both_ready());
  launcher.send(SIGTERM);
  EXPECT_TRUE(says(launcher, "SIGTERM goes to all ranks"));
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(launcher.wait(), 128 + SIGTERM);
}

TEST_F(LauncherSignal, MaskIsBackAfterwards) {
  LauncherProcess launcher([&] {
    const int code = launch(bash(1, "true"));
    sigset_t mask;
    ::sigprocmask(SIG_BLOCK, nullptr, &mask);
    return code + sigismember(&mask, SIGTERM) + sigismember(&mask, SIGPIPE);
  });
  EXPECT_EQ(launcher.wait(), 0);
}

}  // namespace
}  // namespace sheaf::launch
