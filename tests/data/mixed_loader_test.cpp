// Batches from several sources: the same for any number of ranks, and from any position on.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "data/joined_data.h"
#include "data/numbers.h"
#include "sheaf/data/loader.h"

namespace sheaf::data {
namespace {

using testing::Numbers;
using Samples = std::vector<std::int64_t>;

constexpr std::int64_t kFirst = 30, kSecond = 500, kThird = 7;
const std::vector<double> kWeights{0.2, 0.5, 0.3};

std::shared_ptr<const Dataset> three_sources() {
  std::vector<std::shared_ptr<const Dataset>> datasets;
  for (const std::int64_t size : {kFirst, kSecond, kThird}) {
    datasets.push_back(std::make_shared<Numbers>(size));
  }
  return std::make_shared<JoinedData>(std::move(datasets), kWeights);
}

/// Hashes of global batches, and their samples in global order.
struct Seen {
  std::vector<std::uint64_t> hashes;
  Samples samples;
};

/// Takes batches on all ranks together, from `position` on, and leaves it where the next begins.
void take(int ranks, int batches, Position& position, Seen& seen) {
  std::vector<Loader> loaders;
  for (int rank = 0; rank < ranks; ++rank) {
    loaders.push_back(
        {three_sources(),
         {.rank = rank, .ranks = ranks, .global_batch = 11, .seed = 5, .start = position}});
  }
  for (int i = 0; i < batches; ++i) {
    std::uint64_t hash = 0;
    for (Loader& loader : loaders) {
      const Batch batch = loader.next();
      hash += sample_hash(batch.samples, batch.first_sample);
      seen.samples.insert(seen.samples.end(), batch.samples.begin(), batch.samples.end());
      position = batch.next;
    }
    seen.hashes.push_back(hash);
  }
}

TEST(MixedLoader, GoesOnExactlyWithAnotherNumberOfRanks) {
  Position alone, moved;
  Seen whole, parts;
  take(1, 120, alone, whole);
  for (const auto& [ranks, batches] : {std::pair{2, 1}, {3, 49}, {1, 7}, {4, 63}}) {
    take(ranks, batches, moved, parts);
  }
  EXPECT_EQ(parts.hashes, whole.hashes);
  EXPECT_EQ(parts.samples, whole.samples);
  EXPECT_EQ(moved, alone);
  EXPECT_GT(alone.epoch, 1);
}

TEST(MixedLoader, HasEverySampleOfASourceOnceInEachOfItsEpochs) {
  Position position;
  Seen seen;
  take(2, 300, position, seen);
  std::map<std::int64_t, Samples> by_source;
  for (const std::int64_t sample : seen.samples) {
    by_source[sample < kFirst             ? kFirst
              : sample < kFirst + kSecond ? kSecond
                                          : kThird]
        .push_back(sample);
  }
  for (const auto& [size, samples] : by_source) {
    const auto epoch_size = static_cast<std::size_t>(size);
    ASSERT_GT(samples.size(), 2 * epoch_size);
    for (std::size_t begin = 0; begin + epoch_size <= samples.size(); begin += epoch_size) {
      Samples epoch(samples.begin() + static_cast<std::ptrdiff_t>(begin),
                    samples.begin() + static_cast<std::ptrdiff_t>(begin + epoch_size));
      std::sort(epoch.begin(), epoch.end());
      EXPECT_EQ(epoch.back() - epoch.front(), size - 1);
      EXPECT_EQ(std::adjacent_find(epoch.begin(), epoch.end()), epoch.end());
    }
  }
}

TEST(MixedLoader, ShufflesEachEpochOfASourceAnew) {
  Position position;
  Seen seen;
  take(1, 60, position, seen);
  Samples third;
  for (const std::int64_t sample : seen.samples) {
    if (sample >= kFirst + kSecond) third.push_back(sample);
  }
  EXPECT_FALSE(std::equal(third.begin(), third.begin() + kThird, third.begin() + kThird));
}

TEST(MixedLoader, FollowsTheWeights) {
  Position position;
  Seen seen;
  take(3, 200, position, seen);
  const auto first = std::count_if(seen.samples.begin(),
                                   seen.samples.end(),
                                   [](std::int64_t sample) { return sample < kFirst; });
  const auto third = std::count_if(seen.samples.begin(),
                                   seen.samples.end(),
                                   [](std::int64_t sample) { return sample >= kFirst + kSecond; });
  EXPECT_NEAR(static_cast<double>(first), 0.2 * 2200, 3);
  EXPECT_NEAR(static_cast<double>(third), 0.3 * 2200, 3);
}

TEST(MixedLoader, FillsRowsFromTheSourceOfTheSample) {
  Loader loader(three_sources(), {.global_batch = 50, .seed = 2});
  const Batch batch = loader.next();
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    std::int64_t sample = batch.samples[i];
    if (sample >= kFirst + kSecond) sample -= kSecond;
    if (sample >= kFirst) sample -= kFirst;
    EXPECT_EQ(batch.targets[static_cast<std::int64_t>(i)].item<std::int64_t>(), sample);
  }
}

}  // namespace
}  // namespace sheaf::data
