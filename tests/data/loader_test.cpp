#include "sheaf/data/loader.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data/numbers.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Numbers;

using Samples = std::vector<std::int64_t>;

Loader loader_of(std::int64_t size, const LoaderOptions& options) {
  return {std::make_shared<Numbers>(size), options};
}

void append(Samples& to, const Samples& from) { to.insert(to.end(), from.begin(), from.end()); }

Samples taken(Loader& loader, int batches) {
  Samples samples;
  for (int i = 0; i < batches; ++i) append(samples, loader.next().samples);
  return samples;
}

// Takes batches on all ranks; returns their samples in global order and where the next one begins.
Samples taken_by_ranks(std::int64_t size, LoaderOptions options, int batches, Position& position) {
  std::vector<Loader> loaders;
  options.start = position;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    loaders.push_back(loader_of(size, options));
  }
  Samples samples;
  for (int i = 0; i < batches; ++i) {
    for (Loader& loader : loaders) {
      const Batch batch = loader.next();
      append(samples, batch.samples);
      EXPECT_EQ(batch.next, loader.position());
      position = batch.next;
    }
  }
  return samples;
}

class LoaderWithWorkers : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, LoaderWithWorkers, ::testing::Values(0, 1, 3));

TEST_P(LoaderWithWorkers, FillsRowsWithTheSamplesItNames) {
  auto loader = loader_of(20, {.global_batch = 8, .seed = 1, .workers = GetParam()});
  for (int i = 0; i < 5; ++i) {
    const Batch batch = loader.next();
    const auto ids = at::tensor(batch.samples);
    EXPECT_TRUE(batch.targets.equal(ids));
    EXPECT_TRUE(batch.inputs.equal(at::stack({ids, ids + 1}, 1)));
    EXPECT_EQ(batch.global_samples, 8);
  }
}

TEST_P(LoaderWithWorkers, GivesTheSameBatchesInTheSameOrder) {
  const Order order(50, 9, true);
  auto loader = loader_of(50, {.global_batch = 7, .seed = 9, .workers = GetParam(), .prefetch = 4});
  Samples expected;
  for (std::int64_t i = 0; i < 140; ++i) expected.push_back(order.at(i / 50, i % 50));
  EXPECT_EQ(taken(loader, 20), expected);
}

TEST_P(LoaderWithWorkers, RethrowsWhatTheDataThrows) {
  const auto broken = std::make_shared<Numbers>(10, 5);
  Loader loader(broken, {.global_batch = 2, .shuffle = false, .workers = GetParam()});
  EXPECT_THAT(taken(loader, 2), ElementsAre(0, 1, 2, 3));
  EXPECT_THROW((void)loader.next(), std::runtime_error);
  EXPECT_EQ(loader.position(), (Position{0, 4}));
  EXPECT_THROW((void)loader.next(), std::runtime_error);
  loader.set_epoch(1);
  EXPECT_THAT(taken(loader, 2), ElementsAre(0, 1, 2, 3));
}

TEST_P(LoaderWithWorkers, StartsAgainAtAnEpoch) {
  const LoaderOptions options{.global_batch = 4, .seed = 3, .workers = GetParam()};
  auto loader = loader_of(10, options);
  (void)taken(loader, 3);
  loader.set_epoch(5);
  EXPECT_EQ(loader.position(), (Position{5, 0}));
  auto from_start = options;
  from_start.start = {5, 0};
  auto other = loader_of(10, from_start);
  EXPECT_EQ(taken(loader, 4), taken(other, 4));
}

TEST_P(LoaderWithWorkers, GoesOnWhereAnotherNumberOfRanksStopped) {
  const LoaderOptions two{.ranks = 2, .global_batch = 6, .seed = 4, .workers = GetParam()};
  LoaderOptions three = two;
  three.ranks = 3;
  LoaderOptions one = two;
  one.ranks = 1;

  Position position;
  Samples samples = taken_by_ranks(42, two, 3, position);
  EXPECT_EQ(position, (Position{0, 18}));
  append(samples, taken_by_ranks(42, three, 4, position));
  EXPECT_EQ(position, (Position{1, 0}));

  Position alone;
  EXPECT_EQ(samples, taken_by_ranks(42, one, 7, alone));
  std::sort(samples.begin(), samples.end());
  EXPECT_EQ(std::unique(samples.begin(), samples.end()) - samples.begin(), 42);
}

TEST(Loader, GoesOnWithAnotherGlobalBatch) {
  Position position;
  Samples samples = taken_by_ranks(30, {.ranks = 2, .global_batch = 5, .seed = 4}, 2, position);
  append(samples, taken_by_ranks(30, {.ranks = 3, .global_batch = 4, .seed = 4}, 10, position));
  Position alone;
  EXPECT_EQ(samples, taken_by_ranks(30, {.global_batch = 50, .seed = 4}, 1, alone));
  EXPECT_EQ(position, alone);
}

TEST(Loader, CutsBatchesThatDoNotDivideEvenly) {
  const LoaderOptions options{.rank = 1, .ranks = 3, .global_batch = 7, .shuffle = false};
  auto loader = loader_of(100, options);
  const Batch batch = loader.next();
  EXPECT_EQ(batch.first_sample, 3);
  EXPECT_THAT(batch.samples, ElementsAre(3, 4));
  EXPECT_THAT(loader.next().samples, ElementsAre(10, 11));
}

TEST(Loader, EndsAnEpochWithASmallerBatchWhereAsked) {
  auto loader = loader_of(5, {.global_batch = 4, .partial_batches = true, .shuffle = false});
  EXPECT_EQ(loader.next().global_samples, 4);
  const Batch last = loader.next();
  EXPECT_THAT(last.samples, ElementsAre(4));
  EXPECT_EQ(last.global_samples, 1);
  EXPECT_EQ(last.next, (Position{1, 0}));
  EXPECT_THAT(loader.next().samples, ElementsAre(0, 1, 2, 3));
}

TEST(Loader, GivesARankWithoutRowsEmptyTensors) {
  auto loader = loader_of(
      5, {.rank = 3, .ranks = 4, .global_batch = 4, .partial_batches = true, .shuffle = false});
  EXPECT_THAT(loader.next().samples, ElementsAre(3));
  const Batch batch = loader.next();
  EXPECT_THAT(batch.samples, IsEmpty());
  EXPECT_EQ(batch.inputs.sizes(), at::IntArrayRef({0, 2}));
  EXPECT_EQ(batch.targets.size(0), 0);
  EXPECT_EQ(batch.global_samples, 1);
}

TEST(Loader, FillsTheLastBatchFromTheNextEpoch) {
  auto loader = loader_of(5, {.global_batch = 4, .shuffle = false});
  (void)loader.next();
  const Batch batch = loader.next();
  EXPECT_THAT(batch.samples, ElementsAre(4, 0, 1, 2));
  EXPECT_EQ(batch.position, (Position{0, 4}));
  EXPECT_EQ(batch.next, (Position{1, 3}));
}

TEST(Loader, MovesWithItsWorkers) {
  auto first = loader_of(100, {.global_batch = 1, .shuffle = false, .workers = 2});
  (void)first.next();
  Loader second(std::move(first));
  EXPECT_THAT(taken(second, 3), ElementsAre(1, 2, 3));
}

TEST(Loader, CountsTheTimeThatNextTakes) {
  auto loader = loader_of(100, {.global_batch = 50, .workers = 0});
  EXPECT_EQ(loader.waited().count(), 0);
  (void)loader.next();
  const Seconds first = loader.waited();
  EXPECT_GT(first.count(), 0);
  (void)loader.next();
  EXPECT_GT(loader.waited(), first);
}

TEST(Loader, RefusesOptionsThatCannotBe) {
  const auto error_with = [](const LoaderOptions& options) {
    return error_of([&] { (void)loader_of(10, options); });
  };
  EXPECT_EQ(error_with({.rank = 2, .ranks = 2}), "a loader's rank must be one of 2, got 2");
  EXPECT_THAT(error_with({.rank = -1}), HasSubstr("got -1"));
  EXPECT_THAT(error_with({.ranks = 0}), HasSubstr("one of 0"));
  EXPECT_EQ(error_with({.global_batch = 0}), "a global batch has at least 1 sample, got 0");
  EXPECT_EQ(error_with({.workers = -1}), "workers of a loader must be at least 0, got -1");
  EXPECT_EQ(error_with({.prefetch = 0}), "prefetch of a loader must be at least 1, got 0");
  EXPECT_THAT(error_with({.start = {0, 11}}), HasSubstr("has 10 samples per epoch"));
  EXPECT_EQ(error_of([] { Loader(nullptr, {}); }), "a loader needs a dataset, got none");
  auto loader = loader_of(10, {.shuffle = false});
  EXPECT_THAT(error_of([&] { loader.set_epoch(-1); }), HasSubstr("epoch -1"));
  EXPECT_THAT(loader.next().samples, ElementsAre(0));
}

}  // namespace
}  // namespace sheaf::data
