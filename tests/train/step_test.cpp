#include "sheaf/train/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/comm/init.h"
#include "train/assembly.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using ::testing::ElementsAre;

/// Takes one step, and returns how often the first parameter had been stepped each time that the
/// step said it was about to change something.
std::vector<std::int64_t> steps_seen(const StepOptions& options) {
  const comm::Group world = comm::init();
  const RunOptions run = small_run();
  const Assembly parts = assemble(run, world);
  std::vector<std::int64_t> seen;
  TrainStep step(
      {.model = parts.model,
       .state = parts.state,
       .optimizer = parts.optimizer,
       .group = world,
       .before_update = [&] { seen.push_back(parts.optimizer->step_counts().slots[0][0]); }},
      options);
  data::Loader loader(parts.data.training, {.global_batch = run.batch.global});
  PhaseClock clock(parts.device, world);
  clock.start();
  static_cast<void>(step.run(loader.next(), 0, clock));
  EXPECT_EQ(parts.optimizer->step_counts().slots[0][0], 1);
  EXPECT_EQ(parts.optimizer->num_steps(), 1);
  return seen;
}

TEST(TrainStep, StepsWithinTheLastPassWhereAsked) {
  // After the pass the step has been taken already.
  EXPECT_THAT(steps_seen({.micro_batch = 4, .in_backward = true}), ElementsAre(0, 1));
  EXPECT_THAT(steps_seen({.micro_batch = 4}), ElementsAre(0));
}

TEST(TrainStep, StepsAfterItWhereGradientsAreClipped) {
  EXPECT_THAT(steps_seen({.micro_batch = 4, .clip = 1.0, .in_backward = true}), ElementsAre(0));
}

}  // namespace
}  // namespace sheaf::train
