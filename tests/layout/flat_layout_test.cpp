#include "sheaf/layout/flat_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "sheaf/base/error.h"

namespace sheaf::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::array<std::int64_t, 2> kTwoParams{5, 6};
constexpr std::array<std::int64_t, 5> kWithEmpties{0, 7, 0, 1, 0};

std::string error_of(const auto& attempt) {
  try {
    attempt();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string error_of_making(std::vector<std::int64_t> numels, FlatLayoutOptions options) {
  return error_of([&] { const FlatLayout layout(numels, options); });
}

TEST(Range, IntersectsToWhatBothHave) {
  EXPECT_EQ(intersect({2, 6}, {4, 10}), (Range{4, 4}));
  EXPECT_EQ(intersect({4, 10}, {2, 6}), (Range{4, 4}));
  EXPECT_EQ(intersect({0, 10}, {3, 2}), (Range{3, 2}));
}

TEST(Range, IntersectsToNothingWhenTheyOnlyTouch) {
  EXPECT_EQ(intersect({0, 4}, {4, 4}), Range{});
  EXPECT_EQ(intersect({9, 4}, {1, 2}), Range{});
  EXPECT_EQ(intersect({2, 0}, {0, 8}), Range{});
}

TEST(FlatLayout, PacksParametersEndToEnd) {
  const FlatLayout layout(kTwoParams, {});
  EXPECT_THAT(layout.params(), ElementsAre(Range{0, 5}, Range{5, 6}));
  EXPECT_EQ(layout.size(), 11);
}

TEST(FlatLayout, PadsTheTailSoThatShardsAreEqual) {
  const FlatLayout layout(kTwoParams, {.num_shards = 4});
  EXPECT_EQ(layout.size(), 12);
  EXPECT_EQ(layout.shard_size(), 3);
  EXPECT_EQ(layout.shard(3), (Range{9, 3}));
}

TEST(FlatLayout, AlignsParametersAndShards) {
  const FlatLayout layout(kTwoParams, {.num_shards = 3, .alignment = 4});
  EXPECT_THAT(layout.params(), ElementsAre(Range{0, 5}, Range{8, 6}));
  EXPECT_EQ(layout.size(), 24);
  EXPECT_EQ(layout.shard(1), (Range{8, 8}));
}

TEST(FlatLayout, SplitsAParameterThatCrossesAShard) {
  const FlatLayout layout(kTwoParams, {.num_shards = 4});
  EXPECT_EQ(layout.local_part(0, 0), (Range{0, 3}));
  EXPECT_EQ(layout.local_part(0, 1), (Range{3, 2}));
  EXPECT_EQ(layout.local_part(1, 1), (Range{0, 1}));
  EXPECT_EQ(layout.local_part(1, 3), (Range{4, 2}));
}

TEST(FlatLayout, FindsThePartInTheShard) {
  const FlatLayout layout(kTwoParams, {.num_shards = 4});
  EXPECT_EQ(layout.offset_in_shard(0, 1), 0);
  EXPECT_EQ(layout.offset_in_shard(1, 1), 2);
  EXPECT_EQ(layout.offset_in_shard(1, 2), 0);
}

TEST(FlatLayout, HasAnEmptyPartWhereARankHoldsNothing) {
  const FlatLayout layout(kTwoParams, {.num_shards = 4});
  EXPECT_EQ(layout.local_part(0, 3), Range{});
  EXPECT_EQ(layout.offset_in_shard(0, 3), 0);
}

TEST(FlatLayout, GivesEveryElementToExactlyOneRank) {
  for (const int num_shards : {1, 2, 3, 5, 16}) {
    const FlatLayout layout(kWithEmpties, {.num_shards = num_shards, .alignment = 2});
    for (std::size_t index = 0; index < kWithEmpties.size(); ++index) {
      std::int64_t next = 0;
      for (int rank = 0; rank < num_shards; ++rank) {
        const Range part = layout.local_part(index, rank);
        if (part.size > 0) EXPECT_EQ(part.begin, next);
        next += part.size;
      }
      EXPECT_EQ(next, kWithEmpties[index]);
    }
  }
}

TEST(FlatLayout, PutsPartAndShardAtTheSamePlaceInTheBuffer) {
  const FlatLayout layout(kTwoParams, {.num_shards = 3, .alignment = 2});
  for (std::size_t index = 0; index < kTwoParams.size(); ++index) {
    for (int rank = 0; rank < 3; ++rank) {
      const Range part = layout.local_part(index, rank);
      if (part.size == 0) continue;
      EXPECT_EQ(layout.params()[index].begin + part.begin,
                layout.shard(rank).begin + layout.offset_in_shard(index, rank));
    }
  }
}

TEST(FlatLayout, IsEmptyWithoutParameters) {
  const FlatLayout layout({}, {.num_shards = 4, .alignment = 8});
  EXPECT_THAT(layout.params(), IsEmpty());
  EXPECT_EQ(layout.size(), 0);
  EXPECT_EQ(layout.shard(3), Range{});
}

TEST(FlatLayout, RefusesANegativeCount) {
  EXPECT_EQ(error_of_making({5, -6}, {}),
            "parameter 1 cannot have a negative number of elements: -6");
}

TEST(FlatLayout, RefusesOptionsBelowOne) {
  EXPECT_EQ(error_of_making({5}, {.num_shards = 0}),
            "a flat buffer is cut into at least 1 shard, got 0");
  EXPECT_EQ(error_of_making({5}, {.alignment = -8}),
            "the alignment of a flat buffer is at least 1, got -8");
}

TEST(FlatLayout, RefusesARankThatIsNotThere) {
  const FlatLayout layout(kTwoParams, {.num_shards = 4});
  EXPECT_EQ(error_of([&] { static_cast<void>(layout.shard(4)); }),
            "the flat buffer is cut over 4 ranks, there is no rank 4");
  EXPECT_EQ(error_of([&] { static_cast<void>(layout.local_part(0, -1)); }),
            "the flat buffer is cut over 4 ranks, there is no rank -1");
}

TEST(FlatLayout, RefusesAnIndexThatIsNotThere) {
  const FlatLayout layout(kTwoParams, {.num_shards = 4});
  EXPECT_EQ(error_of([&] { static_cast<void>(layout.offset_in_shard(2, 0)); }),
            "the flat buffer has 2 parameters, there is no index 2");
}

}  // namespace
}  // namespace sheaf::layout
