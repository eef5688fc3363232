#include "models/rotary_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sheaf::models {
namespace {

using ::testing::ElementsAre;

constexpr nn::RotaryOptions kOptions{.head_size = 8, .num_positions = 100, .theta = 100};

TEST(RotaryCache, HasTheTableOfTheLayersForAnyLength) {
  const nn::RotaryTable whole = nn::make_rotary_table(kOptions, at::kCPU);
  RotaryCache cache(kOptions);
  for (const std::int64_t length : {3, 100, 1, 65, 2}) {
    const nn::RotaryTable table = cache.table(length, at::kCPU);
    EXPECT_TRUE(table.cosines.equal(whole.cosines.narrow(0, 0, length))) << length;
    EXPECT_TRUE(table.sines.equal(whole.sines.narrow(0, 0, length))) << length;
  }
}

TEST(RotaryCache, MakesATableOnceForLengthsThatItCovers) {
  RotaryCache cache(kOptions);
  const nn::RotaryTable first = cache.table(33, at::kCPU);
  EXPECT_TRUE(cache.table(64, at::kCPU).cosines.is_alias_of(first.cosines));
  EXPECT_FALSE(cache.table(65, at::kCPU).cosines.is_alias_of(first.cosines));
}

TEST(RotaryCache, KeepsOneTablePerDevice) {
  RotaryCache cache(kOptions);
  const nn::RotaryTable here = cache.table(10, at::kCPU);
  EXPECT_TRUE(cache.table(10, at::kMeta).cosines.is_meta());
  EXPECT_TRUE(cache.table(10, at::kCPU).cosines.is_alias_of(here.cosines));
}

TEST(RotaryCache, ServesSeveralThreads) {
  RotaryCache cache(kOptions);
  std::vector<std::int64_t> lengths(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    threads.emplace_back([&cache, &length = lengths[i], i] {
      for (std::int64_t j = 1; j <= 25; ++j) {
        length = cache.table(4 * j - static_cast<std::int64_t>(i), at::kCPU).sines.size(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(lengths, ElementsAre(100, 99, 98, 97));
}

}  // namespace
}  // namespace sheaf::models
