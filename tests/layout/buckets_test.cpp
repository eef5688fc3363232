#include "sheaf/layout/buckets.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <random>
#include <string>

#include "sheaf/base/error.h"

namespace sheaf::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Buckets = std::vector<std::vector<std::size_t>>;

constexpr BucketOptions kTenAfterFour{.cap = {10}, .first_cap = {4}};

std::vector<Bytes> bytes(const std::vector<std::int64_t>& counts) {
  std::vector<Bytes> sizes;
  for (const std::int64_t count : counts) sizes.push_back({count});
  return sizes;
}

Buckets assign(const std::vector<std::int64_t>& counts, const BucketOptions& options) {
  return assign_buckets(bytes(counts), options);
}

std::string error_of(const BucketOptions& options) {
  try {
    static_cast<void>(assign({1}, options));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Asks DistributedDataParallel's own function.
Buckets reference(const std::vector<std::int64_t>& counts, const BucketOptions& options) {
  std::vector<at::Tensor> tensors;
  for (const std::int64_t count : counts) tensors.push_back(at::empty({count}, at::kByte));
  const std::vector<std::size_t> caps{static_cast<std::size_t>(options.first_cap.count),
                                      static_cast<std::size_t>(options.cap.count)};
  return std::get<0>(c10d::compute_bucket_assignment_by_size(tensors, caps));
}

TEST(Buckets, CloseWhenTheCapIsReached) {
  EXPECT_THAT(assign({4, 5, 5, 5}, kTenAfterFour),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3)));
}

TEST(Buckets, StayOpenOneByteBelowTheCap) {
  EXPECT_THAT(assign({4, 4, 5, 1}, kTenAfterFour),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
}

TEST(Buckets, UseTheFirstCapOnlyOnce) {
  EXPECT_THAT(assign({2, 2, 4, 4, 4}, kTenAfterFour),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3, 4)));
}

TEST(Buckets, HoldALargeMemberAloneWhenItComesFirst) {
  EXPECT_THAT(assign({99, 99, 1}, kTenAfterFour),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(Buckets, TakeALargeMemberIntoTheOpenBucket) {
  EXPECT_THAT(assign({4, 1, 99}, kTenAfterFour), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST(Buckets, TakeMembersWithoutBytes) {
  EXPECT_THAT(assign({0, 0}, kTenAfterFour), ElementsAre(ElementsAre(0, 1)));
}

TEST(Buckets, AreNoneWithoutMembers) { EXPECT_THAT(assign({}, {}), IsEmpty()); }

TEST(Buckets, AreThoseOfDistributedDataParallel) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> counts(1 + random() % 40);
    for (std::int64_t& count : counts) count = static_cast<std::int64_t>(random() % 60);
    const BucketOptions options{.cap = {1 + static_cast<std::int64_t>(random() % 100)},
                                .first_cap = {1 + static_cast<std::int64_t>(random() % 50)}};
    EXPECT_EQ(assign(counts, options), reference(counts, options));
  }
}

TEST(Buckets, RefuseACapBelowOneByte) {
  EXPECT_EQ(error_of({.cap = {0}}), "the cap of a bucket must be at least 1 byte, got 0");
  EXPECT_EQ(error_of({.first_cap = {-3}}),
            "the cap of the first bucket must be at least 1 byte, got -3");
}

}  // namespace
}  // namespace sheaf::layout
