#include "checkpoint/spread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sheaf::checkpoint {
namespace {

TEST(Spread, DoesEverythingOnce) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> done(97);
    spread(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const auto& each : done) EXPECT_EQ(each, 1);
  }
}

TEST(Spread, WorksOnSeveralAtATime) {
  std::promise<void> second;
  // Would never end if the second waited for the first.
  spread(2, 2, [&](std::size_t i) { i == 1 ? second.set_value() : second.get_future().wait(); });
}

TEST(Spread, StaysOnTheCallersThreadIfAlone) {
  const auto self = std::this_thread::get_id();
  spread(3, 1, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

TEST(Spread, BeginsNothingAfterAnError) {
  std::vector<std::size_t> begun;
  const auto run = [&] {
    spread(10, 1, [&](std::size_t i) {
      begun.push_back(i);
      if (i == 2) throw std::runtime_error("two");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(begun.size(), 3U);
}

TEST(Spread, ThrowsWhatAnotherThreadThrew) {
  const auto self = std::this_thread::get_id();
  std::promise<void> thrown;
  const auto run = [&] {
    spread(2, 2, [&](std::size_t) {
      if (std::this_thread::get_id() == self) return thrown.get_future().wait();
      thrown.set_value();
      throw std::runtime_error("other");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
}

}  // namespace
}  // namespace sheaf::checkpoint
