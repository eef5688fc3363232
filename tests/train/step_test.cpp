#include "sheaf/train/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/comm/init.h"
#include "train/assembly.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

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

/// Losses and sample hashes of so many steps, each started `ahead` of the one before being
/// finished.
std::vector<std::pair<double, std::uint64_t>> results(std::int64_t steps, std::int64_t ahead) {
  const comm::Group world = comm::init();
  const RunOptions run = small_run();
  const Assembly parts = assemble(run, world);
  TrainStep step(
      {.model = parts.model, .state = parts.state, .optimizer = parts.optimizer, .group = world},
      {.micro_batch = 4});
  data::Loader loader(parts.data.training, {.global_batch = run.batch.global});
  PhaseClock clock(parts.device, world);
  std::vector<std::pair<double, std::uint64_t>> found;
  for (std::int64_t i = 0; i < steps + ahead; ++i) {
    clock.start();
    if (i < steps) step.start(loader.next(), i, clock);
    if (i < ahead) continue;
    const StepResult result = step.finish();
    found.emplace_back(result.loss, result.sample_hash);
  }
  return found;
}

TEST(TrainStep, FinishesStepsInTheOrderOfTheirStart) {
  const auto one_by_one = results(4, 0);
  EXPECT_THAT(one_by_one, SizeIs(4));
  EXPECT_NE(one_by_one[0], one_by_one[1]);
  EXPECT_EQ(results(4, 1), one_by_one);
}

}  // namespace
}  // namespace sheaf::train
