// MPS with a stand-in for NVIDIA's daemon: who starts it, who uses it, and that it always ends.
#include "launch/mps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "launch/launcher_process.h"
#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Says where the rank's MPS is, that its daemon runs, and the daemon's process id.
constexpr const char* kLookAtMps =
    "pid=$(cat $CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid); kill -0 $pid && "
    "echo $pid > $SIGN_IN/new$RANK && mv $SIGN_IN/new$RANK $SIGN_IN/$RANK; ";

class MpsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PATH");
    ::setenv("PATH", (std::string(SHEAF_STAND_IN) + ":" + path).c_str(), 1);
    ::setenv("SIGN_IN", folder_.file("").c_str(), 1);
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    before_ = path;
  }
  void TearDown() override {
    ::setenv("PATH", before_.c_str(), 1);
    for (const char* name : {"STAND_IN", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_VISIBLE_DEVICES"}) {
      ::unsetenv(name);
    }
  }

  [[nodiscard]] LaunchOptions ranks(const std::string& script) const {
    // Without a trap bash forgets a signal that comes while its child ends by itself.
    LaunchOptions options = bash(2, std::string("trap 'exit 130' INT; ") + kLookAtMps + script);
    options.mps = Mps::on;
    options.run_dir = folder_.file("run");
    return options;
  }
  /// Leaves nothing in PATH but what starts the ranks.
  void hide_programs() const {
    const std::string bin = folder_.file("bin");
    std::filesystem::create_directory(bin);
    std::filesystem::create_symlink("/bin/bash", bin + "/bash");
    ::setenv("PATH", bin.c_str(), 1);
  }
  [[nodiscard]] bool both_signed_in() const {
    return eventually([&] { return folder_.has("0") && folder_.has("1"); });
  }
  [[nodiscard]] bool daemon_is_gone() const { return is_gone(std::stoi(folder_.read("0"))); }
  /// The only folder of a daemon in that of the run.
  [[nodiscard]] std::string daemon_file(const std::string& name) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("run"))) {
      return "run/" + entry.path().filename().string() + "/" + name;
    }
    return "none";
  }

  TemporaryFolder folder_;
  std::string before_;
};

TEST_F(MpsTest, ServesAllRanksAndEndsAfterThem) {
  const auto result = run_launcher(ranks("echo $pid"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(folder_.read("0"), folder_.read("1"));
  EXPECT_TRUE(daemon_is_gone());
  EXPECT_THAT(result.err,
              ContainsRegex("info launch: 2 ranks on 0 GPUs run side by side under MPS, in "
                            ".*/run/mps_......\n$"));
}

TEST_F(MpsTest, KeepsItsLogInTheFolderOfTheRunAndRemovesTheRest) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  ASSERT_EQ(run_launcher(ranks("")).code, 0);
  EXPECT_EQ(folder_.read(daemon_file("log/control.log")), "visible: all\nquit\n");
  EXPECT_FALSE(folder_.has(daemon_file("pipe")));
}

TEST_F(MpsTest, LeavesNothingInATemporaryFolder) {
  auto options = ranks("echo $CUDA_MPS_PIPE_DIRECTORY");
  options.run_dir = "";
  const auto result = run_launcher(options);
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string pipe = result.out.substr(4, result.out.find('\n') - 4);
  EXPECT_THAT(pipe, ContainsRegex("sheaf_mps_....../pipe$"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(pipe).parent_path()));
}

// After both have signed in: the launcher ends the other rank as soon as one has failed.
TEST_F(MpsTest, EndsWhenARankFails) {
  const auto failing =
      ranks("until [ -e $SIGN_IN/0 -a -e $SIGN_IN/1 ]; do sleep 0.01; done; exit 3");
  EXPECT_EQ(run_launcher(failing).code, 3);
  EXPECT_TRUE(daemon_is_gone());
}

TEST_F(MpsTest, EndsWhenTheLauncherIsTold) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    LauncherProcess launcher(ranks("while :; do sleep 1; done"));
    ASSERT_TRUE(both_signed_in());
    launcher.send(signal);
    EXPECT_EQ(launcher.wait(), 128 + signal);
    EXPECT_TRUE(daemon_is_gone());
    std::filesystem::remove(folder_.file("0"));
    std::filesystem::remove(folder_.file("1"));
  }
}

TEST_F(MpsTest, EndsEvenWhenTheLauncherIsKilled) {
  LauncherProcess launcher(ranks("while :; do sleep 1; done"));
  ASSERT_TRUE(both_signed_in());
  launcher.send(SIGKILL);
  EXPECT_EQ(launcher.wait(), 137);
  EXPECT_TRUE(eventually([&] { return daemon_is_gone(); }));
}

TEST_F(MpsTest, MovesWhenTheFolderIsTooDeepForItsSockets) {
  auto options = ranks("");
  options.run_dir = folder_.file(std::string(90, 'x'));
  const auto result = run_launcher(options);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("too long for the sockets of MPS, which are in "));
  EXPECT_TRUE(daemon_is_gone());
}

TEST_F(MpsTest, IsAnErrorWhereItWasAskedForAndIsNotThere) {
  hide_programs();
  const auto result = run_launcher(ranks(""));
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err,
            "error test: --mps on: MPS is not to be had here (no such program in PATH: "
            "nvidia-cuda-mps-control); --mps off goes without it\n");
}

TEST_F(MpsTest, SaysWhyTheDaemonDidNotStart) {
  ::setenv("STAND_IN", "refuses", 1);
  const auto result = run_launcher(ranks(""));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("did not start: An instance of this daemon is already running)"));
}

TEST_F(MpsTest, WaitsForADaemonThatAnswersLate) {
  ::setenv("STAND_IN", "slow", 1);
  const auto result = run_launcher(ranks(""));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(daemon_is_gone());
}

TEST_F(MpsTest, DoesNotWaitForADaemonThatHangs) {
  ::setenv("STAND_IN", "hangs", 1);
  const std::string program = std::string(SHEAF_STAND_IN) + "/nvidia-cuda-mps-control";
  try {
    const MpsDaemon daemon({.program = program, .patience = Seconds(0.1)});
    ADD_FAILURE() << "started in " << daemon.folder();
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did not start: it does not answer"));
  }
}

TEST_F(MpsTest, IsOnlyForRanksThatShareAGpu) {
  EXPECT_EQ(start_mps({.ranks = 4, .gpus = 0}), nullptr);
  EXPECT_EQ(start_mps({.ranks = 4, .gpus = 4}), nullptr);
  EXPECT_EQ(start_mps({.mps = Mps::off, .ranks = 4, .gpus = 1}), nullptr);
  EXPECT_NE(start_mps({.ranks = 4, .gpus = 2}), nullptr);
}

TEST_F(MpsTest, GoesWithoutWhereItIsNotThere) {
  hide_programs();
  testing::internal::CaptureStderr();
  EXPECT_EQ(start_mps({.ranks = 4, .gpus = 1}), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "info launch: 4 ranks on 1 GPU take turns: MPS is not to be had here (no such program "
            "in PATH: nvidia-cuda-mps-control)\n");
}

TEST_F(MpsTest, UsesTheOneThatIsThere) {
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/given", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(start_mps({.mps = Mps::on, .ranks = 4, .gpus = 1}), nullptr);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("/given"));
}

}  // namespace
}  // namespace sheaf::launch
