#include "gpu_training/step_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace sheaf::bench {
namespace {

TEST(StepWatch, SeesStepsAndNothingElse) {
  const testing::TemporaryFolder folder;
  StepWatch watch(folder.path("metrics.jsonl"));
  folder.write("metrics.jsonl",
               "{\"event\":\"start\"}\n{\"event\":\"step\",\"step\":1}\n"
               "{\"event\":\"step\",\"step\":2}\n{\"event\":\"end\"}\n");
  EXPECT_THAT(watch.stop().steps, ::testing::SizeIs(2));
}

TEST(StepWatch, LeavesALineThatIsNotWholeForLater) {
  const testing::TemporaryFolder folder;
  StepWatch watch(folder.path("metrics.jsonl"));
  folder.write("metrics.jsonl", "{\"event\":\"step\",\"step\":1}\n{\"event\":\"step\",\"st");
  EXPECT_THAT(watch.stop().steps, ::testing::SizeIs(1));
}

TEST(StepArrivals, LeaveTheWarmUpOutOfTheMean) {
  const StepArrivals arrivals{{Seconds{5}, Seconds{6}, Seconds{6.1}, Seconds{6.3}}};
  EXPECT_DOUBLE_EQ(arrivals.first_s(), 5);
  EXPECT_NEAR(arrivals.mean_ms(/*warm_up=*/2), 150, 1e-9);
}

TEST(StepArrivals, HaveNoMeanWithoutSteps) {
  EXPECT_EQ(StepArrivals().mean_ms(/*warm_up=*/2), 0);
  EXPECT_EQ(StepArrivals().first_s(), 0);
}

}  // namespace
}  // namespace sheaf::bench
