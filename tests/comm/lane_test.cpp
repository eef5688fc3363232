#include "comm/lane.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <future>
#include <stdexcept>
#include <vector>

namespace sheaf::comm {
namespace {

TEST(Lane, RunsTasksInTheOrderTheyCame) {
  Lane lane;
  std::vector<int> order;
  std::vector<std::shared_ptr<Lane::Task>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(lane.submit([&order, i] { order.push_back(i); }));
  lane.wait(*tasks.back());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Lane, RunsATaskThatNobodyWaitsFor) {
  Lane lane;
  std::promise<void> ran;
  lane.submit([&] { ran.set_value(); });
  ran.get_future().wait();
}

/// Returns how the lane's own thread rounds; waiting might run the task here.
int rounding_on(Lane& lane) {
  std::promise<int> rounding;
  const auto task = lane.submit([&] { rounding.set_value(std::fegetround()); });
  const int found = rounding.get_future().get();
  lane.wait(*task);
  return found;
}

TEST(Lane, ComputesAsTheThreadThatSubmits) {
  Lane lane;
  EXPECT_EQ(rounding_on(lane), FE_TONEAREST);  // and starts its thread
  std::fesetround(FE_UPWARD);
  const int found = rounding_on(lane);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(found, FE_UPWARD);
}

TEST(Lane, GivesTheExceptionToWhoWaits) {
  Lane lane;
  const auto task = lane.submit([] { throw std::runtime_error("broken"); });
  EXPECT_THROW(lane.wait(*task), std::runtime_error);
  EXPECT_THROW(lane.wait(*task), std::runtime_error);  // and again
}

TEST(Lane, GoesOnAfterAnException) {
  Lane lane;
  lane.submit([] { throw std::runtime_error("broken"); });
  bool ran = false;
  const auto task = lane.submit([&] { ran = true; });
  lane.wait(*task);
  EXPECT_TRUE(ran);
}

TEST(Lane, NeverRunsTwoTasksAtOnce) {
  Lane lane;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto body = [&] {
    most = std::max(most.load(), ++inside);
    --inside;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) lane.wait(*lane.submit(body));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(Lane, FinishesWhatIsQueuedWhenItEnds) {
  std::atomic<int> ran{0};
  {
    Lane lane;
    for (int i = 0; i < 50; ++i) lane.submit([&] { ++ran; });
  }
  EXPECT_EQ(ran, 50);
}

TEST(Lane, TellsWhetherATaskIsDone) {
  Lane lane;
  std::promise<void> gate;
  const auto task = lane.submit([&] { gate.get_future().wait(); });
  EXPECT_FALSE(lane.done(*task));
  EXPECT_TRUE(lane.busy());
  gate.set_value();
  lane.wait(*task);
  EXPECT_TRUE(lane.done(*task));
  EXPECT_FALSE(lane.busy());
}

}  // namespace
}  // namespace sheaf::comm
