#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "launch/launcher_process.h"
#include "launch/store_host.h"

namespace sheaf::launch {
namespace {

using testing::HasSubstr;

// Two launchers on this machine that take each other for another node.
class LauncherNodes : public testing::Test {
 protected:
  LaunchOptions node(int node_rank, const std::string& script) const {
    auto options = bash(2, script);
    options.nodes = 2;
    options.node_rank = node_rank;
    options.endpoint = "127.0.0.1:" + std::to_string(port_);
    options.no_secret = true;
    return options;
  }

  [[nodiscard]] bool has_joined(int node_rank) const {
    const Endpoint endpoint{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port_)};
    auto store = StoreHost::connect(endpoint, std::chrono::minutes(1));
    return store.find("sheaf/launch/claim/" + std::to_string(node_rank)).has_value();
  }

  [[nodiscard]] std::string secret_file(const std::string& name) const {
    std::ofstream(folder_.file(name)) << std::string(44, 'x');
    std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_read);
    return folder_.file(name);
  }

  TemporaryFolder folder_;
  // Free again as soon as the temporary store is gone, and not soon given to anybody else.
  int port_ = StoreHost::serve({}, StoreHost::Reach::this_machine).port();
};

std::string verdict(const LauncherProcess& launcher) {
  const auto text = launcher.err();
  const auto start = text.find("error launch: ");
  return start == std::string::npos ? "" : text.substr(start);
}

TEST_F(LauncherNodes, NumberTheirRanksThrough) {
  const std::string script = "echo $RANK of $WORLD_SIZE at $MASTER_ADDR $SHEAF_STORE_PORT";
  LauncherProcess second(node(1, script));
  LauncherProcess first(node(0, script));
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  const std::string where = " of 4 at 127.0.0.1 " + std::to_string(port_) + "\n";
  EXPECT_THAT(first.out(), HasSubstr("[0] 0" + where));
  EXPECT_THAT(first.out(), HasSubstr("[1] 1" + where));
  EXPECT_THAT(second.out(), HasSubstr("[2] 2" + where));
  EXPECT_THAT(second.out(), HasSubstr("[3] 3" + where));
}

TEST_F(LauncherNodes, AllEndWhenARankFailsOnTheSecond) {
  LauncherProcess first(node(0, "touch " + folder_.file("up") + "; sleep 1000"));
  LauncherProcess second(
      node(1, wait_for(folder_.file("up")) + "[ $RANK = 3 ] && exit 11; sleep 1000"));
  EXPECT_EQ(second.wait(), 11);
  EXPECT_EQ(first.wait(), 11);
  EXPECT_THAT(verdict(second),
              testing::MatchesRegex("error launch: rank 3 .* exited with code 11\n"));
  EXPECT_EQ(verdict(first), verdict(second));
}

TEST_F(LauncherNodes, AllEndWhenARankFailsOnTheFirst) {
  LauncherProcess second(node(1, "touch " + folder_.file("up") + "; sleep 1000"));
  LauncherProcess first(
      node(0, wait_for(folder_.file("up")) + "[ $RANK = 1 ] && exit 12; sleep 1000"));
  EXPECT_EQ(first.wait(), 12);
  EXPECT_EQ(second.wait(), 12);
  EXPECT_EQ(verdict(first), verdict(second));
}

TEST_F(LauncherNodes, AllEndWhenOneIsTold) {
  LauncherProcess first(node(0, "sleep 1000"));
  LauncherProcess second(node(1, "touch " + folder_.file("up") + "; sleep 1000"));
  ASSERT_TRUE(eventually([&] { return folder_.has("up"); }));
  second.send(SIGTERM);
  EXPECT_EQ(second.wait(), 128 + SIGTERM);
  EXPECT_EQ(first.wait(), 128 + SIGTERM);
}

TEST_F(LauncherNodes, EndWhenTheFirstIsGone) {
  LauncherProcess first(node(0, "touch " + folder_.file("up") + "; sleep 1000"));
  LauncherProcess second(node(1, wait_for(folder_.file("up")) + "sleep 1000"));
  ASSERT_TRUE(eventually([&] { return has_joined(1); }));
  first.send(SIGKILL);
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.err(), HasSubstr("no launcher of node 0 at 127.0.0.1"));
}

TEST_F(LauncherNodes, RefuseASecondOneOfTheSameRank) {
  const auto script = wait_for(folder_.file("go"));
  LauncherProcess second(node(1, script));
  LauncherProcess twin(node(1, script));
  LauncherProcess first(node(0, script));
  const auto refused = [](const LauncherProcess& launcher) {
    return launcher.err().find("another launcher has joined as node 1") != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] { return refused(second) || refused(twin); }));
  folder_.touch("go");
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait() + twin.wait(), 2);
}

// Who sends SIGTERM or SIGUSR1 may start the job again; Ctrl-C means its end.
class LauncherNodesSignal : public LauncherNodes,
                            public testing::WithParamInterface<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Signals,
                         LauncherNodesSignal,
                         testing::Values(std::pair(SIGTERM, kRequeueCode),
                                         std::pair(SIGUSR1, kRequeueCode),
                                         std::pair(SIGINT, 128 + SIGINT)));

TEST_P(LauncherNodesSignal, EndsOneThatWaitsForTheFirst) {
  const auto [signal, code] = GetParam();
  LauncherProcess second(node(1, "true"));
  ASSERT_TRUE(eventually(
      [&] { return second.err().find("waits for the launcher of node 0") != std::string::npos; }));
  second.send(signal);
  EXPECT_EQ(second.wait(), code);
  EXPECT_THAT(second.err(), testing::Not(HasSubstr("c10d")));
}

TEST_F(LauncherNodes, EndWhenTheSecondIsGone) {
  LauncherProcess first(node(0, "sleep 1000"));
  LauncherProcess second(node(1, "touch " + folder_.file("up") + "; sleep 1000"));
  ASSERT_TRUE(eventually([&] { return folder_.has("up") && has_joined(1); }));
  second.send(SIGKILL);
  EXPECT_EQ(first.wait(), 1);
  EXPECT_THAT(verdict(first), testing::MatchesRegex("error launch: node 1 .* is gone: .*\n"));
}

TEST_F(LauncherNodes, MeetWithTheSameSecret) {
  auto one = node(0, "true");
  auto two = node(1, "true");
  for (auto* options : {&one, &two}) {
    options->no_secret = false;
    options->secret_file = secret_file("secret");
  }
  LauncherProcess first(one);
  LauncherProcess second(two);
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
}

TEST_F(LauncherNodes, RefuseEachOtherWithoutIt) {
  auto one = node(0, wait_for(folder_.file("refused")));
  one.no_secret = false;
  one.secret_file = secret_file("secret");
  LauncherProcess first(one);
  LauncherProcess second(node(1, "sleep 1000"));
  EXPECT_EQ(second.wait(), 2);
  EXPECT_THAT(verdict(second), HasSubstr("it does not know the secret of the run"));
  EXPECT_TRUE(
      eventually([&] { return first.err().find("refused 127.0.0.1") < first.err().size(); }));
}

TEST_F(LauncherNodes, NeedASecretUnlessToldOtherwise) {
  auto options = node(0, "true");
  options.no_secret = false;
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("several nodes need --secret-file"));
}

}  // namespace
}  // namespace sheaf::launch
