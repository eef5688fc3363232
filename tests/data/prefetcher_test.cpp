#include "data/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>

namespace sheaf::data {
namespace {

Batch numbered(std::int64_t number) { return {.first_sample = number}; }

TEST(Prefetcher, HandsOutInOrderWhoeverIsDoneFirst) {
  // Batch 0 is made only when batch 1 has been: that needs both workers.
  std::latch second_is_done(1);
  Prefetcher prefetcher(
      [&](std::int64_t number) {
        if (number == 0) second_is_done.wait();
        if (number == 1) second_is_done.count_down();
        return numbered(number);
      },
      2,
      2);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(prefetcher.take().first_sample, i);
}

TEST(Prefetcher, MakesNoMoreThanAskedAhead) {
  std::atomic<std::int64_t> made = 0;
  std::latch third(3);
  {
    Prefetcher prefetcher(
        [&](std::int64_t number) {
          ++made;
          if (number < 3) third.count_down();
          return numbered(number);
        },
        4,
        3);
    third.wait();
    EXPECT_EQ(made, 3);
    (void)prefetcher.take();
  }
  EXPECT_LE(made, 4);
}

TEST(Prefetcher, RethrowsInTurnAndFromThenOn) {
  Prefetcher prefetcher(
      [](std::int64_t number) {
        if (number == 2) throw std::runtime_error("no batch 2");
        return numbered(number);
      },
      3,
      4);
  EXPECT_EQ(prefetcher.take().first_sample, 0);
  EXPECT_EQ(prefetcher.take().first_sample, 1);
  EXPECT_THROW((void)prefetcher.take(), std::runtime_error);
  EXPECT_THROW((void)prefetcher.take(), std::runtime_error);
}

TEST(Prefetcher, GivesNothingWhileTheNextBatchIsBeingMade) {
  std::latch may_end(1);
  Prefetcher prefetcher(
      [&](std::int64_t number) {
        if (number == 1) may_end.wait();
        return numbered(number);
      },
      2,
      3);
  EXPECT_EQ(prefetcher.take().first_sample, 0);
  EXPECT_FALSE(prefetcher.take_if_ready());
  may_end.count_down();
  EXPECT_EQ(prefetcher.take().first_sample, 1);
}

TEST(Prefetcher, GivesWhatIsReadyInOrder) {
  Prefetcher prefetcher(numbered, 2, 3);
  for (std::int64_t i = 0; i < 100;) {
    if (const auto batch = prefetcher.take_if_ready()) EXPECT_EQ(batch->first_sample, i++);
  }
}

TEST(Prefetcher, LeavesErrorsToWhoWaits) {
  Prefetcher prefetcher([](std::int64_t) -> Batch { throw std::runtime_error("none"); }, 1, 1);
  EXPECT_THROW((void)prefetcher.take(), std::runtime_error);
  EXPECT_FALSE(prefetcher.take_if_ready());
  EXPECT_THROW((void)prefetcher.take(), std::runtime_error);
}

TEST(Prefetcher, EndsWhileBatchesAreBeingMade) {
  for (int i = 0; i < 200; ++i) {
    Prefetcher prefetcher(numbered, 3, 2);
    if (i % 2 == 0) (void)prefetcher.take();
  }
}

TEST(Prefetcher, EndsAfterEveryBatchFailed) {
  Prefetcher prefetcher([](std::int64_t) -> Batch { throw std::runtime_error("none"); }, 2, 5);
  EXPECT_THROW((void)prefetcher.take(), std::runtime_error);
}

TEST(Prefetcher, NamesItsThreads) {
  std::string name(16, '\0');
  Prefetcher prefetcher(
      [&](std::int64_t number) {
        if (number == 0) pthread_getname_np(pthread_self(), name.data(), name.size());
        return numbered(number);
      },
      1,
      1);
  (void)prefetcher.take();
  EXPECT_STREQ(name.c_str(), "sheaf-data");
}

}  // namespace
}  // namespace sheaf::data
