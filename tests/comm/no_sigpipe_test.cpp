#include "comm/no_sigpipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

/// Writes to a pipe that nobody reads; returns the error's number.
int write_to_nobody() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return -1;
  close(ends[0]);
  const int error = write(ends[1], "x", 1) < 0 ? errno : 0;
  close(ends[1]);
  return error;
}

bool is_blocked() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, SIGPIPE) == 1;
}

TEST(NoSigpipe, LetsWritesFailWithAnError) {
  {
    const NoSigpipe guard;
    EXPECT_EQ(write_to_nobody(), EPIPE);
  }
  EXPECT_FALSE(is_blocked());
}

TEST(NoSigpipe, LastsInThreadsThatAreStartedMeanwhile) {
  bool blocked = false;
  {
    const NoSigpipe guard;
    std::thread([&] { blocked = is_blocked() && write_to_nobody() == EPIPE; }).join();
  }
  EXPECT_TRUE(blocked);
}

TEST(NoSigpipe, EndsAProcessOnlyOutsideOfIt) {
  EXPECT_EXIT(write_to_nobody(), ::testing::KilledBySignal(SIGPIPE), "");
}

/// Returns how many of this process's threads have gloo's name, and which of them SIGPIPE could
/// end.
std::pair<int, int> count_gloo_threads() {
  int all = 0, endable = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string word;
    bool is_gloo = false;
    while (status >> word) {
      if (word == "Name:" && status >> word) is_gloo = word.find("gloo") != std::string::npos;
      if (word != "SigBlk:" || !is_gloo) continue;
      status >> word;
      ++all;
      const auto mask = std::stoull(word, nullptr, 16);
      if ((mask >> (SIGPIPE - 1) & 1U) == 0) ++endable;
    }
  }
  return {all, endable};
}

TEST(NoSigpipe, HoldsForAllThreadsOfGloo) {
  const auto outcomes = run_ranks_forked(
      2,
      [](const Group& world) {
        world.barrier().wait();
        const auto [all, endable] = count_gloo_threads();
        testing::require(all > 0, "gloo has no threads of its name");
        testing::require(endable == 0, std::to_string(endable) + " of " + std::to_string(all));
        world.barrier().wait();
      },
      {.backend = BackendKind::gloo, .timeout = Seconds(60)});
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

}  // namespace
}  // namespace sheaf::comm
