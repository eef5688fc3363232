#include "nn/kernels/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "outcome.h"

namespace sheaf::nn {
namespace {

/// Returns how often each piece was visited.
std::vector<int> visits(std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> visited(static_cast<std::size_t>(count));
  in_parallel({count, grain}, [&](Part part) {
    for (std::int64_t i = part.begin; i < part.end; ++i) ++visited[static_cast<std::size_t>(i)];
  });
  return {visited.begin(), visited.end()};
}

TEST(InParallel, VisitsEachPieceOnce) {
  const Threads threads(3);
  for (const std::int64_t count : {0, 1, 2, 3, 4, 7, 100}) {
    for (const std::int64_t grain : {1, 3, 1000}) {
      EXPECT_EQ(visits(count, grain), std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

TEST(InParallel, RunsOnSeveralThreads) {
  const Threads threads(2);
  if (at::get_num_threads() != 2) GTEST_SKIP() << "LibTorch has one thread here";
  std::atomic<int> parts = 0;
  // Each part waits for the other, which one thread could not do.
  in_parallel({2}, [&](Part) {
    ++parts;
    while (parts < 2) std::this_thread::yield();
  });
  EXPECT_EQ(parts, 2);
}

TEST(InParallel, StaysOnTheCallersThreadWhereLittleIsToDo) {
  const Threads threads(2);
  std::set<std::thread::id> seen;
  in_parallel({100, 51}, [&](Part) { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
}

TEST(InParallel, RunsInOnePartInsideAnother) {
  const Threads threads(2);
  std::atomic<int> parts = 0;
  in_parallel({2}, [&](Part outer) {
    for (std::int64_t i = outer.begin; i < outer.end; ++i)
      in_parallel({50}, [&](Part) { ++parts; });
  });
  EXPECT_EQ(parts, 2);
}

TEST(InParallel, ThrowsWhatAPartThrows) {
  for (const int count : {1, 2}) {
    const Threads threads(count);
    const auto fail = [](Part part) {
      if (part.end == 10) throw std::runtime_error("the last part");
    };
    EXPECT_THROW(in_parallel({10}, fail), std::runtime_error);
    EXPECT_EQ(visits(10, 1), std::vector<int>(10, 1));
  }
}

TEST(OnEachThread, CallsOnceOnEach) {
  const Threads threads(3);
  std::mutex mutex;
  std::multiset<std::thread::id> seen;
  on_each_thread([&] {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(at::get_num_threads()));
  for (const std::thread::id thread : seen) EXPECT_EQ(seen.count(thread), 1U);
}

}  // namespace
}  // namespace sheaf::nn
