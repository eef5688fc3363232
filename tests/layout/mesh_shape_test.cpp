#include "sheaf/layout/mesh_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"

namespace sheaf::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MeshShape& two_by_three_by_two() {
  static const MeshShape shape({{"replicate", 2}, {"shard", 3}, {"tensor", 2}}, 12);
  return shape;
}

std::string error_of(std::vector<Axis> axes, int num_ranks) {
  try {
    const MeshShape shape(std::move(axes), num_ranks);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(MeshShape, NumbersRanksWithTheLastAxisFastest) {
  EXPECT_THAT(two_by_three_by_two().coordinates(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(two_by_three_by_two().coordinates(1), ElementsAre(0, 0, 1));
  EXPECT_THAT(two_by_three_by_two().coordinates(7), ElementsAre(1, 0, 1));
}

TEST(MeshShape, FindsTheRankAtItsCoordinates) {
  for (int rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(two_by_three_by_two().rank_at(two_by_three_by_two().coordinates(rank)), rank);
  }
}

TEST(MeshShape, GivesOneColorToRanksThatDifferOnlyAlongTheAxes) {
  const MeshShape& shape = two_by_three_by_two();
  for (int a = 0; a < 12; ++a) {
    for (int b = 0; b < 12; ++b) {
      const bool same_replicate = shape.coordinates(a)[0] == shape.coordinates(b)[0];
      EXPECT_EQ(shape.color(a, {"shard", "tensor"}) == shape.color(b, {"shard", "tensor"}),
                same_replicate);
    }
  }
}

TEST(MeshShape, FillsInTheOpenAxis) {
  const MeshShape shape({{"replicate", 2}, {"shard", -1}}, 8);
  EXPECT_EQ(shape.axes()[1].size, 4);
}

TEST(MeshShape, RefusesAProductThatIsNotTheWorldSize) {
  EXPECT_EQ(error_of({{"replicate", 2}, {"shard", 4}}, 6),
            "the mesh replicate 2 x shard 4 needs 8 ranks, the world has 6");
}

TEST(MeshShape, RefusesAnOpenAxisThatDoesNotComeOutEven) {
  EXPECT_EQ(error_of({{"replicate", 4}, {"shard", -1}}, 6),
            "the mesh replicate 4 x shard -1 needs a multiple of 4 ranks, the world has 6");
}

TEST(MeshShape, RefusesTwoOpenAxes) {
  EXPECT_THAT(error_of({{"replicate", -1}, {"shard", -1}}, 4),
              HasSubstr("axis 'shard' must have at least 1 rank"));
}

TEST(MeshShape, RefusesEmptyRepeatedAndZeroAxes) {
  EXPECT_THAT(error_of({}, 1), HasSubstr("at least one axis"));
  EXPECT_THAT(error_of({{"", 1}}, 1), HasSubstr("axis 0 of the mesh has no name"));
  EXPECT_THAT(error_of({{"a", 1}, {"a", 1}}, 1), HasSubstr("names an axis twice: a"));
  EXPECT_THAT(error_of({{"a", 0}}, 1), HasSubstr("got 0"));
}

TEST(MeshShape, RefusesAProductThatOverflows) {
  EXPECT_THAT(error_of({{"a", 1 << 30}, {"b", 1 << 30}, {"c", 1 << 30}}, 4),
              HasSubstr("the world has 4"));
}

TEST(MeshShape, NamesItsAxesWhenAskedForAnother) {
  try {
    static_cast<void>(two_by_three_by_two().index("pipeline"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "the mesh replicate 2 x shard 3 x tensor 2 has no axis 'pipeline'");
  }
}

}  // namespace
}  // namespace sheaf::layout
