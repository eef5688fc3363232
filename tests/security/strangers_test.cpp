// Strangers at every port of a run.
#include "security/strangers.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "security/ports.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRanks = 3;
constexpr int kConnections = 10'000;

/// attacked_run in a process of its own, which holds until it is told to go on.
class AttackedRun {
 public:
  explicit AttackedRun(const std::string& backend) {
    const std::string ranks = std::to_string(kRanks);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(::creat(folder_.path("out").c_str(), 0600), STDOUT_FILENO);
    ::dup2(::creat(folder_.path("err").c_str(), 0600), STDERR_FILENO);
    ::execl(SHEAF_ATTACKED_RUN,
            SHEAF_ATTACKED_RUN,
            "--ranks",
            ranks.c_str(),
            backend.c_str(),
            folder_.path().c_str(),
            nullptr);
    ::_exit(127);
  }
  ~AttackedRun() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  AttackedRun(const AttackedRun&) = delete;
  AttackedRun& operator=(const AttackedRun&) = delete;

  /// Returns false if it ended instead.
  bool wait_until_it_holds() {
    while (!std::filesystem::exists(folder_.path("ready"))) {
      if (has_ended()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  [[nodiscard]] bool has_ended() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
    return pid_ == 0;
  }
  /// Lets it go on to its end; returns the exit code.
  int finish() {
    folder_.write("go", "");
    if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), &status_, 0);
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  [[nodiscard]] std::vector<Port> ports() const { return listening_ports(family_of(pid_)); }
  [[nodiscard]] std::string out() const { return folder_.read("out"); }
  [[nodiscard]] std::string err() const { return folder_.read("err"); }

 private:
  TemporaryFolder folder_;
  pid_t pid_ = 0;
  int status_ = 0;
};

class Attack : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Backends, Attack, ::testing::Values("shared", "gloo"), [](const auto& p) {
  return p.param;
});

TEST_P(Attack, ChangesNothing) {
  AttackedRun undisturbed(GetParam());
  ASSERT_EQ(undisturbed.finish(), 0) << undisturbed.err();
  ASSERT_THAT(undisturbed.out(), HasSubstr("weights "));

  AttackedRun run(GetParam());
  ASSERT_TRUE(run.wait_until_it_holds()) << run.err();
  const auto ports = run.ports();
  ASSERT_FALSE(ports.empty());
  Strangers strangers(/*seed=*/11);
  while (strangers.tried() < kConnections && !run.has_ended()) {
    for (const Port& port : ports) strangers.visit(port);
  }
  EXPECT_GE(strangers.tried(), kConnections);
  EXPECT_GT(strangers.connected(), 0);
  EXPECT_EQ(run.finish(), 0) << run.err();
  EXPECT_EQ(run.out(), undisturbed.out());
  EXPECT_THAT(run.err(), HasSubstr("which does not know the secret of this run"));
}

TEST_P(Attack, FindsPortsOnLoopbackOnly) {
  AttackedRun run(GetParam());
  ASSERT_TRUE(run.wait_until_it_holds()) << run.err();
  for (const Port& port : run.ports()) EXPECT_TRUE(port.is_loopback()) << port.str();
}

// Ranks that share memory need no port; each that uses gloo has one, and the launcher its store's.
TEST_P(Attack, FindsNoMorePortsThanThereAreReasons) {
  AttackedRun run(GetParam());
  ASSERT_TRUE(run.wait_until_it_holds()) << run.err();
  EXPECT_EQ(run.ports().size(), GetParam() == "gloo" ? 1U + kRanks : 1U);
}

TEST(GlooDoor, IsLockedOnceAllAreIn) {
  AttackedRun run("gloo");
  ASSERT_TRUE(run.wait_until_it_holds()) << run.err();
  const auto ports = run.ports();
  ASSERT_GT(ports.size(), 1U);
  Strangers strangers(/*seed=*/5);
  for (const Port& port : ports) {
    const int before = strangers.connected();
    for (int i = 0; i < 10; ++i) strangers.visit(port);
    // The launcher's port, the first, is the store's: it takes connections, and asks who they are.
    EXPECT_EQ(strangers.connected() > before, port.pid == ports.front().pid) << port.str();
  }
}

}  // namespace
}  // namespace sheaf::testing
