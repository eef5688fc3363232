#include "memory/block_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <thread>

namespace sheaf::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockCache, GivesABlockOfTheSameSizeAgain) {
  BlockCache cache;
  const BlockCache::Block first = cache.take(3 * kMiB);
  cache.give_back(first);
  EXPECT_EQ(cache.kept(), 3 * kMiB);
  const BlockCache::Block second = cache.take(3 * kMiB);
  EXPECT_EQ(second.data, first.data);
  EXPECT_EQ(cache.kept(), 0U);
  cache.give_back(second);
}

TEST(BlockCache, TakesALittleLargerBlockButNoMuchLargerOne) {
  BlockCache cache;
  const BlockCache::Block large = cache.take(16 * kMiB);
  const BlockCache::Block other = cache.take(8 * kMiB);
  cache.give_back(large);
  const BlockCache::Block little_smaller = cache.take(15 * kMiB);
  EXPECT_EQ(little_smaller.data, large.data);
  cache.give_back(little_smaller);
  const BlockCache::Block half = cache.take(8 * kMiB);
  EXPECT_NE(half.data, large.data);
  cache.give_back(half);
  cache.give_back(other);
}

TEST(BlockCache, NeverHoldsMoreThanWasInUseAtThePeak) {
  BlockCache cache;
  cache.give_back(cache.take(10 * kMiB));
  // A block of another size must push the kept one out.
  const BlockCache::Block other = cache.take(6 * kMiB);
  EXPECT_EQ(cache.kept(), 0U);
  cache.give_back(other);
  EXPECT_EQ(cache.kept(), 6 * kMiB);
  // Both fit under the peak of ten.
  cache.give_back(cache.take(4 * kMiB));
  EXPECT_EQ(cache.kept(), 10 * kMiB);
}

TEST(BlockCache, HasReservedWhatIsInUseAndWhatIsKept) {
  BlockCache cache;
  const BlockCache::Block used = cache.take(6 * kMiB);
  cache.give_back(cache.take(4 * kMiB));
  EXPECT_EQ(cache.reserved(), 10 * kMiB);
  cache.give_back(used);
  EXPECT_EQ(cache.reserved(), 10 * kMiB);
}

TEST(BlockCache, GivesMemoryThatCanBeWrittenToTheEnd) {
  BlockCache cache;
  for (const std::size_t size : {std::size_t{1}, 100 * std::size_t{1024}, 2 * kMiB, 5 * kMiB + 1}) {
    const BlockCache::Block block = cache.take(size);
    EXPECT_GE(block.capacity, size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 4096, 0U);
    std::memset(block.data, 1, block.capacity);
    cache.give_back(block);
  }
}

TEST(BlockCache, RefusesWhatNoMachineHas) {
  BlockCache cache;
  EXPECT_THROW(static_cast<void>(cache.take(~std::size_t{0} - 5)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(cache.take(std::size_t{1} << 60)), std::bad_alloc);
}

TEST(BlockCache, ServesManyThreads) {
  BlockCache cache;
  const auto work = [&] {
    for (std::size_t i = 1; i <= 200; ++i) {
      const BlockCache::Block block = cache.take(i * 1024);
      std::memset(block.data, 1, 64);
      cache.give_back(block);
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_GT(cache.kept(), 0U);
}

}  // namespace
}  // namespace sheaf::memory
