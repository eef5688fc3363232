// What only the shared backend has: its slots, its segments and what happens when they are missing.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/shared/allocations.h"
#include "comm/shared/segment.h"
#include "comm/shared/stage.h"
#include "support/on_ranks.h"

namespace sheaf::comm::shared {
namespace {

using ::testing::HasSubstr;

TEST(ShareOf, CutsWithoutGapsOrOverlap) {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 100, 1000, 4097}) {
    std::int64_t next = 0;
    for (int r = 0; r < 3; ++r) {
      const shared::Run run = share_of(count, sizeof(float), r, 3);
      EXPECT_EQ(run.begin, next);
      next = run.begin + run.count;
    }
    EXPECT_EQ(next, count);
  }
}

TEST(ShareOf, KeepsWholeCacheLinesTogether) {
  for (int r = 0; r < 4; ++r) EXPECT_EQ(share_of(1000, sizeof(float), r, 4).begin % 16, 0);
}

TEST(Segment, IsSeenByAForkedChild) {
  const auto outcomes = run_ranks_forked(2, [](const Group& group) {
    const at::Tensor tensor = group.shared_empty(3, at::kInt);
    tensor.fill_(group.rank() + 1);
    group.all_reduce(tensor, {.reduction = Reduction::max}).wait();
    sheaf::testing::require(tensor.equal(at::full({3}, 2, at::kInt)), "the other rank's values");
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

TEST(Segment, SaysWhyItCannotBeOpened) {
  EXPECT_THAT(sheaf::testing::error_of([] {
                static_cast<void>(Segment::open(Ranks::processes, 1 << 20, {getpid(), 999'999}));
              }),
              ::testing::AllOf(HasSubstr("opening of 1.0 MiB of shared memory failed"),
                               HasSubstr("No such file")));
}

TEST(Segment, SaysWhyItCannotBeMade) {
  EXPECT_THAT(sheaf::testing::error_of(
                  [] { static_cast<void>(Segment::create(Ranks::threads, std::size_t{1} << 60)); }),
              HasSubstr("of shared memory failed: Cannot allocate memory"));
}

TEST(Allocations, FindsTensorsAndPartsOfThem) {
  Allocations allocations(Ranks::processes, /*rank=*/1);
  const auto segment = Segment::create(Ranks::processes, 3 * 4096);
  const std::int64_t allocation = allocations.add(segment, 4096);
  std::byte* own = segment->data() + 4096;
  const Place place = allocations.place_of(own + 100, 50);
  EXPECT_EQ(place.allocation, allocation);
  EXPECT_EQ(allocations.pointer_to(2, place), segment->data() + 2 * 4096 + 100);
}

TEST(Allocations, DoesNotFindWhatIsPrivateForeignOrGone) {
  Allocations allocations(Ranks::processes, /*rank=*/1);
  const auto segment = Segment::create(Ranks::processes, 3 * 4096);
  const std::int64_t allocation = allocations.add(segment, 4096);
  std::byte* own = segment->data() + 4096;
  std::byte elsewhere{};
  EXPECT_EQ(allocations.place_of(&elsewhere, 1).allocation, 0);
  EXPECT_EQ(allocations.place_of(segment->data(), 1).allocation, 0) << "rank 0's part";
  EXPECT_EQ(allocations.place_of(own + 4000, 200).allocation, 0) << "reaches into rank 2's part";
  allocations.remove(allocation);
  EXPECT_EQ(allocations.place_of(own, 1).allocation, 0);
}

TEST(SharedTensors, MayBeFreedInAnyOrder) {
  sheaf::testing::on_ranks(sheaf::testing::Way::shared_processes, 3, [](const Group& group) {
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back(group.shared_empty(100'000, at::kFloat).fill_(i));
    tensors.erase(tensors.begin() + group.rank());
    for (const at::Tensor& tensor : tensors) tensor.add_(1);
    const at::Tensor last = tensors.back();
    group.all_reduce(last).wait();
    sheaf::testing::require(last[0].item<float>() == 12, "the fourth tensor's sum");
  });
}

TEST(SharedTensors, MixWithOrdinaryOnes) {
  sheaf::testing::on_ranks(sheaf::testing::Way::shared_processes, 2, [](const Group& group) {
    const at::Tensor shared = group.shared_empty(50'000, at::kFloat);
    const at::Tensor tensor = group.rank() == 0 ? shared : at::empty({50'000});
    tensor.fill_(group.rank() + 1);
    group.all_reduce(tensor).wait();
    sheaf::testing::require(tensor.equal(at::full({50'000}, 3.0)),
                            "sum of a shared and an ordinary tensor");
  });
}

TEST(SharedTensors, OutliveTheirGroup) {
  sheaf::testing::on_ranks(sheaf::testing::Way::shared_processes, 2, [](const Group& world) {
    const at::Tensor tensor = world.split(0).shared_empty(1000, at::kFloat);
    tensor.fill_(1);
    sheaf::testing::require(tensor.sum().item<float>() == 1000, "still there");
  });
}

}  // namespace
}  // namespace sheaf::comm::shared
