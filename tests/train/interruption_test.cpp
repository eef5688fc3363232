#include "sheaf/train/interruption.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <optional>

namespace sheaf::train {
namespace {

using ::testing::KilledBySignal;

volatile std::sig_atomic_t seen_by_test = 0;

void note(int number) { seen_by_test = number; }

/// Puts a handler in place and the earlier one back.
class Handler {
 public:
  Handler(int number, void (*handler)(int))
      : number_(number), previous_(std::signal(number, handler)) {
    seen_by_test = 0;
  }
  ~Handler() { std::signal(number_, previous_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int number_;
  void (*previous_)(int);
};

TEST(InterruptionWatch, SeesWhatPeopleAndSchedulersSend) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    const InterruptionWatch watch;
    EXPECT_EQ(watch.requested(), std::nullopt);
    std::raise(number);
    EXPECT_EQ(watch.requested(), number);
  }
}

TEST(InterruptionWatch, StartsAnew) {
  {
    const InterruptionWatch watch;
    std::raise(SIGTERM);
  }
  EXPECT_EQ(InterruptionWatch().requested(), std::nullopt);
}

TEST(InterruptionWatch, PutsTheEarlierHandlerBack) {
  const Handler handler(SIGTERM, note);
  { const InterruptionWatch watch; }
  std::raise(SIGTERM);
  EXPECT_EQ(seen_by_test, SIGTERM);
}

TEST(InterruptionWatch, LeavesIgnoredSignalsIgnored) {
  const Handler handler(SIGINT, SIG_IGN);
  const InterruptionWatch watch;
  std::raise(SIGINT);
  EXPECT_EQ(watch.requested(), std::nullopt);
}

TEST(InterruptionWatch, IsSharedByThoseThatLiveTogether) {
  const Handler handler(SIGTERM, note);
  std::optional<InterruptionWatch> first(std::in_place);
  const InterruptionWatch second;
  first.reset();
  std::raise(SIGTERM);
  EXPECT_EQ(second.requested(), SIGTERM);
  EXPECT_EQ(seen_by_test, 0);
}

void raise_two(int first, int second) {
  const InterruptionWatch watch;
  std::raise(first);
  std::raise(second);
}

TEST(InterruptionWatchDeathTest, LetsSigintKillAtTheSecondSignal) {
  EXPECT_EXIT(raise_two(SIGINT, SIGINT), KilledBySignal(SIGINT), "");
  EXPECT_EXIT(raise_two(SIGTERM, SIGINT), KilledBySignal(SIGINT), "");
}

TEST(InterruptionWatch, StandsWhatIsSentTwice) {
  const InterruptionWatch watch;
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  std::raise(SIGUSR1);
  EXPECT_EQ(watch.requested(), SIGTERM);
}

TEST(InterruptionWatchDeathTest, LetsAStoppingProcessLeaveWithItsOwnCode) {
  const auto stop = [] {
    {
      const InterruptionWatch watch;
      std::raise(SIGTERM);
      watch.ignore_from_now_on();
    }
    std::raise(SIGTERM);
    std::raise(SIGUSR1);
    std::exit(3);
  };
  EXPECT_EXIT(stop(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace sheaf::train
