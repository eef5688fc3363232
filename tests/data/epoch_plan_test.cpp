#include "data/epoch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;

TEST(EpochPlan, GoesOnIntoTheNextEpoch) {
  const EpochPlan plan({.size = 10, .global_batch = 4});
  EXPECT_EQ(plan.batch(2).position, (Position{0, 8}));
  EXPECT_EQ(plan.batch(2).samples, 4);
  EXPECT_EQ(plan.batch(3).position, (Position{1, 2}));
}

TEST(EpochPlan, TakesSeveralEpochsInOneBatch) {
  const EpochPlan plan({.size = 3, .global_batch = 10});
  EXPECT_EQ(plan.batch(1).position, (Position{3, 1}));
  EXPECT_EQ(plan.batch(1).samples, 10);
}

TEST(EpochPlan, EndsEpochsWithASmallerBatchWhereAsked) {
  const EpochPlan plan({.size = 10, .global_batch = 4, .partial_batches = true});
  EXPECT_EQ(plan.batch(2).position, (Position{0, 8}));
  EXPECT_EQ(plan.batch(2).samples, 2);
  EXPECT_EQ(plan.batch(3).position, (Position{1, 0}));
  EXPECT_EQ(plan.batch(3).samples, 4);
  EXPECT_EQ(plan.batch(8).position, (Position{2, 8}));
}

TEST(EpochPlan, StartsAnywhere) {
  for (const bool partial : {false, true}) {
    const EpochPlan whole({.size = 10, .global_batch = 3, .partial_batches = partial});
    for (std::int64_t begin = 0; begin < 12; ++begin) {
      const EpochPlan rest({.size = 10,
                            .global_batch = 3,
                            .partial_batches = partial,
                            .start = whole.batch(begin).position});
      for (std::int64_t i = 0; i < 12; ++i) {
        EXPECT_EQ(rest.batch(i).position, whole.batch(begin + i).position);
        EXPECT_EQ(rest.batch(i).samples, whole.batch(begin + i).samples);
      }
    }
  }
}

TEST(EpochPlan, TakesTheEndOfAnEpochForTheBeginningOfTheNext) {
  const EpochPlan plan({.size = 10, .global_batch = 4, .start = {2, 10}});
  EXPECT_EQ(plan.batch(0).position, (Position{3, 0}));
}

TEST(EpochPlan, RefusesAPositionThatIsNotInTheData) {
  EXPECT_EQ(error_of([] {
              EpochPlan({.size = 10, .start = {1, 11}});
            }),
            "the data has 10 samples per epoch, so it cannot be at sample 11 of epoch 1: is this "
            "the data that the run began with?");
  EXPECT_THAT(error_of([] {
                EpochPlan({.size = 10, .start = {-1, 0}});
              }),
              ::testing::HasSubstr("epoch -1"));
  EXPECT_EQ(error_of([] { EpochPlan({.size = 10, .global_batch = 0}); }),
            "a global batch has at least 1 sample, got 0");
}

}  // namespace
}  // namespace sheaf::data
