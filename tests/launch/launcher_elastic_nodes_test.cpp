// Launchers that take each other for another node, which fail and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "launch/launcher_process.h"
#include "launch/store_host.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

// Every rank leaves a file GENERATION_RANK_WORLDSIZE, and is done when the file "done" is there.
class ElasticNodes : public testing::Test {
 protected:
  [[nodiscard]] LaunchOptions node(int node_rank, const std::string& script = "") const {
    auto options = bash(2,
                        "trap 'touch " + folder_.file("left$RANK") + "; exit 75' TERM; touch " +
                            folder_.file("${SHEAF_GENERATION}_${RANK}_$WORLD_SIZE") + "; " +
                            script + wait_for(folder_.file("done")));
    options.nodes = 2;
    options.node_rank = node_rank;
    options.endpoint = "127.0.0.1:" + std::to_string(port_);
    options.max_restarts = 3;
    options.no_secret = true;
    options.node_timeout = Seconds(5);
    options.failure_grace = Seconds(30);
    return options;
  }
  [[nodiscard]] bool started(int generation, int ranks) const {
    return eventually([&] {
      for (int rank = 0; rank < ranks; ++rank) {
        if (!folder_.has(std::to_string(generation) + "_" + std::to_string(rank) + "_" +
                         std::to_string(ranks))) {
          return false;
        }
      }
      return true;
    });
  }

  TemporaryFolder folder_;
  int port_ = StoreHost::serve({}, StoreHost::Reach::this_machine).port();
};

TEST_F(ElasticNodes, AllStartAgainWhenARankOfOneDies) {
  const std::string die = "[ $SHEAF_GENERATION$RANK = 03 ] && kill -KILL $$; ";
  LauncherProcess first(node(0, die));
  LauncherProcess second(node(1, die));
  ASSERT_TRUE(started(1, 4)) << first.err() << second.err();
  folder_.touch("done");
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_THAT(first.err(), HasSubstr("rank 3 "));
  EXPECT_THAT(second.err(), HasSubstr("generation 1 starts with 4 ranks"));
}

TEST_F(ElasticNodes, TheRestGoesOnWhenOneDisappearsAndTakesItInAgain) {
  auto options = node(0);
  options.min_ranks = 2;
  LauncherProcess first(options);
  std::optional<LauncherProcess> second(std::in_place, node(1));
  ASSERT_TRUE(started(0, 4)) << first.err();
  second->send(SIGKILL);
  EXPECT_EQ(second->wait(), 128 + SIGKILL);
  ASSERT_TRUE(started(1, 2)) << first.err();
  LauncherProcess again(node(1));
  ASSERT_TRUE(started(2, 4)) << first.err() << again.err();
  folder_.touch("done");
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(again.wait(), 0) << again.err();
  EXPECT_THAT(first.err(), HasSubstr("is gone: nothing was heard of its launcher"));
  EXPECT_THAT(first.err(), HasSubstr("to go on as 4 instead of 2"));
}

TEST_F(ElasticNodes, TheRestTakesInOneThatWasGivenUpButLives) {
  auto options = node(0);
  options.min_ranks = 2;
  LauncherProcess first(options);
  LauncherProcess second(node(1));
  ASSERT_TRUE(started(0, 4)) << first.err();
  second.send(SIGSTOP);
  ASSERT_TRUE(started(1, 2)) << first.err();
  second.send(SIGCONT);
  ASSERT_TRUE(started(2, 4)) << first.err() << second.err();
  folder_.touch("done");
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
}

TEST_F(ElasticNodes, AllEndWhenOneDisappearsForGood) {
  auto options = node(0);
  options.max_restarts = 0;
  LauncherProcess first(options);
  LauncherProcess second(node(1));
  ASSERT_TRUE(started(0, 4)) << first.err();
  second.send(SIGKILL);
  EXPECT_EQ(first.wait(), 1);
  EXPECT_THAT(first.err(), HasSubstr("error launch: node 1 ("));
}

// Between two generations a signal asks for what it asks for during one.
class ElasticNodesSignal : public ElasticNodes, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, ElasticNodesSignal, testing::Values(SIGTERM, SIGUSR1));

TEST_P(ElasticNodesSignal, AsksToBeStartedAgainWhenItComesWhileNoRankRuns) {
  LauncherProcess first(node(0));
  LauncherProcess second(node(1));
  ASSERT_TRUE(started(0, 4)) << first.err();
  second.send(SIGKILL);
  EXPECT_EQ(second.wait(), 128 + SIGKILL);
  // The ranks that are left leave, too, and the launcher waits for node 1.
  ASSERT_TRUE(eventually([&] { return folder_.has("left0") && folder_.has("left1"); }));
  first.send(GetParam());
  EXPECT_EQ(first.wait(), kRequeueCode) << first.err();
  EXPECT_THAT(first.err(), Not(HasSubstr("generation 1")));
}

TEST_F(ElasticNodes, WaitForOneThatIsNeededAndComesBack) {
  LauncherProcess first(node(0));
  LauncherProcess second(node(1));
  ASSERT_TRUE(started(0, 4)) << first.err();
  second.send(SIGKILL);
  EXPECT_EQ(second.wait(), 128 + SIGKILL);
  ASSERT_TRUE(eventually([&] { return first.err().find("is gone") != std::string::npos; }));
  LauncherProcess again(node(1));
  ASSERT_TRUE(started(1, 4)) << first.err() << again.err();
  folder_.touch("done");
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(again.wait(), 0) << again.err();
}

TEST_F(ElasticNodes, AStopOfOneEndsAllAndIsNotFollowed) {
  LauncherProcess first(node(0));
  LauncherProcess second(node(1));
  ASSERT_TRUE(started(0, 4)) << first.err();
  second.send(SIGTERM);
  EXPECT_EQ(second.wait(), kRequeueCode) << second.err();
  EXPECT_EQ(first.wait(), kRequeueCode) << first.err();
  EXPECT_THAT(first.err(), Not(HasSubstr("generation 1")));
}

}  // namespace
}  // namespace sheaf::launch
