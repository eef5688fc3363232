#include "sheaf/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace sheaf::log {
namespace {

class Log : public testing::Test {
 protected:
  ~Log() override {
    set_level(before_);
    set_process_rank(-1);
  }

  static std::string stderr_of(const std::function<void()>& action) {
    testing::internal::CaptureStderr();
    action();
    return testing::internal::GetCapturedStderr();
  }

 private:
  Level before_ = level();
};

TEST_F(Log, WritesLevelAreaAndText) {
  set_level(Level::debug);
  EXPECT_EQ(stderr_of([] { debug("comm", "ring of 4"); }), "debug comm: ring of 4\n");
  EXPECT_EQ(stderr_of([] { warning("data", "slow"); }), "warning data: slow\n");
}

TEST_F(Log, HidesLinesBelowTheLevel) {
  set_level(Level::warning);
  EXPECT_EQ(stderr_of([] { info("comm", "hidden"); }), "");
  EXPECT_EQ(stderr_of([] { error("comm", "shown"); }), "error comm: shown\n");
}

TEST_F(Log, IsSilentWhenOff) {
  set_level(Level::off);
  EXPECT_EQ(stderr_of([] { error("comm", "hidden"); }), "");
  EXPECT_EQ(stderr_of([] { write(Level::off, "comm", "hidden"); }), "");
}

TEST_F(Log, NamesTheRankOfTheProcess) {
  set_process_rank(3);
  EXPECT_EQ(stderr_of([] { error("comm", "lost"); }), "[3] error comm: lost\n");
}

TEST_F(Log, PrefersTheRankOfTheThreadWhileItLives) {
  set_process_rank(3);
  const auto lines = stderr_of([] {
    {
      const ThreadRank rank(1);
      error("comm", "inside");
    }
    error("comm", "outside");
  });
  EXPECT_EQ(lines, "[1] error comm: inside\n[3] error comm: outside\n");
}

TEST_F(Log, KeepsLinesOfThreadsWhole) {
  const auto lines = stderr_of([] {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([rank] {
        const ThreadRank name(rank);
        for (int i = 0; i < 100; ++i) error("test", "one whole line");
      });
    }
    for (auto& thread : threads) thread.join();
  });
  EXPECT_THAT(lines, testing::MatchesRegex("(\\[[0-3]\\] error test: one whole line\n)+"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 400);
}

}  // namespace
}  // namespace sheaf::log
