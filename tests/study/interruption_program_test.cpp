// Ctrl-C while `sheaf bench`, `sheaf sweep` and `sheaf study` run.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;
using sheaf::testing::TemporaryFolder;
using ::testing::IsEmpty;

const std::vector<std::string> kSmall{"--model.preset=gpt2-tiny",
                                      "--model.layers=2",
                                      "--model.width=32",
                                      "--model.heads=2",
                                      "--model.context=16",
                                      "--data.source=stories",
                                      "--data.size=4000",
                                      "--batch.global=4"};

// More steps than are ever taken.
const std::string kEndless = "100000000";

class Interruption : public ::testing::Test {
 protected:
  /// Starts a command in a group of its own; its scratch folders go to `scratch_`.
  void start(std::vector<std::string> words) {
    words.insert(words.begin(), SHEAF_PROGRAM);
    words.insert(words.end(), kSmall.begin(), kSmall.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string scratch = scratch_.path();
    group_ = ::fork();
    if (group_ == 0) {
      ::setpgid(0, 0);
      ::setenv("TMPDIR", scratch.c_str(), 1);
      ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::setpgid(group_, group_);
  }
  /// Waits until a run has written its first step somewhere below a folder.
  void wait_for_steps(const std::string& folder) const {
    const auto trains = [&] {
      std::error_code none;
      for (const auto& entry : fs::recursive_directory_iterator(folder, none)) {
        if (entry.path().filename() == "metrics.jsonl" && entry.file_size(none) > 0) return true;
      }
      return false;
    };
    while (!trains() && ::waitpid(group_, nullptr, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  /// Sends a signal to the program alone, as kill does, and returns its exit code.
  [[nodiscard]] int end_by(int number) const {
    ::kill(group_, number);
    int status = 0;
    ::waitpid(group_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  [[nodiscard]] bool all_are_gone() const { return ::kill(-group_, 0) != 0 && errno == ESRCH; }

  TemporaryFolder scratch_;
  TemporaryFolder out_;
  pid_t group_ = -1;
};

TEST_F(Interruption, OfABenchLeavesNeitherFoldersNorRanks) {
  start({"bench", "--ranks=2", "--strategies=ddp", "--steps=" + kEndless});
  wait_for_steps(scratch_.path());
  EXPECT_EQ(end_by(SIGINT), 130);
  EXPECT_THAT(scratch_.names(), IsEmpty());
  EXPECT_TRUE(all_are_gone());
}

TEST_F(Interruption, OfASweepLeavesNeitherFoldersNorRanks) {
  start({"sweep", "--ranks=2", "--steps=" + kEndless});
  wait_for_steps(scratch_.path());
  EXPECT_EQ(end_by(SIGINT), 130);
  EXPECT_THAT(scratch_.names(), IsEmpty());
  EXPECT_TRUE(all_are_gone());
}

TEST_F(Interruption, OfAStudyAsksToBeStartedAgainWhereASchedulerEndsIt) {
  start({"study", "--out=" + out_.path("study"), "--study.steps=" + kEndless});
  wait_for_steps(out_.path());
  EXPECT_EQ(end_by(SIGTERM), 75);
  EXPECT_TRUE(all_are_gone());
}

}  // namespace
}  // namespace sheaf::study
