#include "study/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::study {
namespace {

using ::testing::ElementsAre;

struct Search {
  std::vector<std::int64_t> tried;
  std::int64_t found = 0;
};

/// Looks for a limit that is known.
Search search(std::int64_t first, std::int64_t most, std::int64_t limit) {
  Search made;
  made.found = largest_that_fits(first, most, [&](std::int64_t batch) {
    made.tried.push_back(batch);
    return batch <= limit ? Fit::fits : Fit::too_large;
  });
  return made;
}

TEST(Sweep, DoublesThenHalvesTheGap) {
  const Search made = search(1, 4096, 11);
  EXPECT_EQ(made.found, 11);
  EXPECT_THAT(made.tried, ElementsAre(1, 2, 4, 8, 16, 12, 10, 11));
}

TEST(Sweep, StopsAtTheSetEnd) {
  const Search made = search(1, 8, 1000);
  EXPECT_EQ(made.found, 8);
  EXPECT_THAT(made.tried, ElementsAre(1, 2, 4, 8));
}

TEST(Sweep, FindsNothingWhereTheFirstIsTooLarge) {
  const Search made = search(4, 64, 3);
  EXPECT_EQ(made.found, 0);
  EXPECT_THAT(made.tried, ElementsAre(4));
}

TEST(Sweep, ComesWithinAnEighthOfALargeLimit) {
  const Search made = search(1, 1 << 20, 1000);
  EXPECT_LE(made.found, 1000);
  EXPECT_GT(made.found, 1000 * 7 / 8);
}

TEST(Sweep, MarksTheSmallestBatchThatIsNearlyFastest) {
  const Json rows = {{{"batch", 1}, {"items_per_second", 50.0}},
                     {{"batch", 4}, {"items_per_second", 96.0}},
                     {{"batch", 8}, {"items_per_second", 100.0}},
                     {{"batch", 16}, {"ending", "out of memory"}}};
  EXPECT_EQ(knee_of(rows), 1);
  EXPECT_EQ(knee_of(Json::array()), -1);
}

TEST(Sweep, KeepsTheLimitThatIsAskedFor) {
  train::RunOptions run;
  run.memory.limit = mebibytes(100);
  EXPECT_EQ(sweep_limit(run, 4), mebibytes(100));
}

}  // namespace
}  // namespace sheaf::study
