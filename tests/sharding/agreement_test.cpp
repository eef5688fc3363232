#include "sharding/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::sharding {
namespace {

using testing::error_of;
using testing::on_ranks;
using testing::Way;
using Lines = std::vector<std::string>;

/// Runs the check on three ranks, of which one has lines of its own; returns what rank 1 is told.
std::string disagreement(const Lines& usual, int odd_rank, const Lines& odd) {
  std::string message;
  on_ranks(Way::shared_threads, 3, [&](const comm::Group& world) {
    const Lines& lines = world.rank() == odd_rank ? odd : usual;
    const std::string own = error_of([&] { check_agreement(world, lines, "models"); });
    if (world.rank() == 1) message = own;
  });
  return message;
}

TEST(Agreement, PassesWhereAllHaveTheSameLines) {
  on_ranks(Way::shared_threads, 3, [](const comm::Group& world) {
    EXPECT_NO_THROW(check_agreement(world, {"one", "two"}, "models"));
    EXPECT_NO_THROW(check_agreement(world, {}, "models"));
  });
}

TEST(Agreement, SaysWhichRankDiffersAndInWhichLine) {
  EXPECT_EQ(disagreement({"stage 3", "seed 1"}, 2, {"stage 3", "seed 2"}),
            "the ranks' models differ: rank 2 has seed 2, rank 0 has seed 1");
}

TEST(Agreement, NamesTheFirstOfSeveralDifferences) {
  EXPECT_EQ(disagreement({"a", "b", "c"}, 1, {"a", "x", "y"}),
            "the ranks' models differ: rank 1 has x, rank 0 has b");
}

TEST(Agreement, SaysWhereARankHasLess) {
  EXPECT_EQ(disagreement({"a", "b"}, 1, {"a"}),
            "the ranks' models differ: rank 1 has nothing more, rank 0 has b");
}

TEST(Agreement, SaysWhereARankHasMore) {
  EXPECT_EQ(disagreement({"a"}, 2, {"a", "b"}),
            "the ranks' models differ: rank 2 has b, rank 0 has nothing more");
}

TEST(Agreement, ComparesWithRankZeroAlsoWhereThatIsTheOddOne) {
  EXPECT_EQ(disagreement({"usual"}, 0, {"odd"}),
            "the ranks' models differ: rank 1 has usual, rank 0 has odd");
}

TEST(Agreement, TellsEveryRankTheSame) {
  on_ranks(Way::shared_threads, 3, [](const comm::Group& world) {
    const Lines lines{std::to_string(world.rank())};
    EXPECT_EQ(error_of([&] { check_agreement(world, lines, "options"); }),
              "the ranks' options differ: rank 1 has 1, rank 0 has 0");
  });
}

TEST(Agreement, TakesOneSmallExchangeWhereAllAgree) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const comm::Traffic start = world.traffic();
    check_agreement(world, Lines(1000, "a long line"), "models");
    const comm::Tally total = (world.traffic() - start).total();
    EXPECT_EQ(total.calls, 1);
    EXPECT_EQ(total.bytes, Bytes{2 * 16});
  });
}

}  // namespace
}  // namespace sheaf::sharding
