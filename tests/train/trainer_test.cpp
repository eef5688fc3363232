#include "sheaf/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "sheaf/base/error.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Trainer, LowersTheLoss) {
  RunOptions options = small_run();
  options.optimizer.learning_rate = 1e-2;
  options.train.steps = 30;
  const auto run = record_run(options, 1);
  EXPECT_LT(run->steps.back().loss, 0.8 * run->steps.front().loss);
}

TEST(Trainer, TellsStartStepsEvaluationAndEnd) {
  const auto run = record_run(small_run(), 2);
  EXPECT_EQ(run->info.ranks, 2);
  EXPECT_EQ(run->info.steps, 6);
  EXPECT_THAT(run->steps, SizeIs(6));
  EXPECT_THAT(run->evaluations, SizeIs(1));
  ASSERT_THAT(run->ended, SizeIs(1));
  EXPECT_THAT(run->ended[0].memory, SizeIs(2));
  EXPECT_EQ(run->ended[0].last_loss, run->steps.back().loss);
}

TEST(Trainer, EvaluatesWhenAskedTo) {
  RunOptions options = small_run();
  options.train.evaluate_every = 2;
  EXPECT_THAT(record_run(options, 1)->evaluations, SizeIs(3));
  options.train.evaluate = false;
  EXPECT_THAT(record_run(options, 1)->evaluations, SizeIs(0));
}

// Only who compares reads it, and that is rank 0 of `sheaf train`.
TEST(Trainer, NeedsNoBaseline) {
  RunOptions options = small_run();
  options.log.baseline = "/nowhere";
  EXPECT_THAT(record_run(options, 2)->ended, SizeIs(1));
}

TEST(Trainer, RefusesACudaGraphOnTheCpu) {
  RunOptions options = small_run();
  options.train.graph = GraphUse::on;
  EXPECT_THROW(record_run(options, 1), UsageError);
}

TEST(Trainer, WritesAText) {
  RunOptions options = small_run();
  options.train.sample_tokens = 10;
  options.train.sample_prompt = "Once";
  const auto one = record_run(options, 1);
  ASSERT_THAT(one->samples, SizeIs(1));
  EXPECT_THAT(one->samples[0], testing::StartsWith("Once"));
  EXPECT_THAT(one->samples[0], SizeIs(14));
}

TEST(Trainer, EndsAllRanksWhenOneIsAsked) {
  const RunOptions options = small_run();
  auto recorder = std::make_shared<Recorder>();
  comm::run_ranks(2, [&](const comm::Group& world) {
    int asked = 0;
    Hooks hooks{.sinks = {recorder}};
    // Rank 1 is asked to stop in its third step, which is finished; rank 0 never is.
    hooks.stop_signal = [&] { return world.rank() == 1 && ++asked == 3 ? SIGTERM : 0; };
    const Summary summary = train::run(options, world, hooks);
    EXPECT_EQ(summary.steps, 3);
    EXPECT_EQ(summary.signal, SIGTERM);
    EXPECT_THAT(summary.interrupted, HasSubstr("SIGTERM"));
  });
  EXPECT_THAT(recorder->steps, SizeIs(3));
  EXPECT_THAT(recorder->ended, SizeIs(1));
}

/// What two ranks say of the signal that ended them, where each got one of its own.
std::vector<std::string> stopped_by(std::array<int, 2> signals) {
  std::vector<std::string> said(2);
  comm::run_ranks(2, [&](const comm::Group& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    Hooks hooks;
    hooks.stop_signal = [&] { return signals[rank]; };
    said[rank] = train::run(small_run(), world, hooks).interrupted;
  });
  return said;
}

TEST(Trainer, EndsAllRanksByTheSameSignalWhereTheyGotDifferentOnes) {
  EXPECT_THAT(stopped_by({SIGINT, SIGTERM}), Each("interrupted by SIGINT"));
  EXPECT_THAT(stopped_by({SIGUSR1, SIGTERM}), Each("interrupted by SIGTERM"));
  EXPECT_THAT(stopped_by({0, SIGUSR1}), Each("interrupted by SIGUSR1"));
}

TEST(Trainer, TakesSignalsThatNobodyWatchesForSigterm) {
  EXPECT_THAT(stopped_by({0, SIGUSR2}), Each("interrupted by SIGTERM"));
  EXPECT_THAT(stopped_by({-1, SIGINT}), Each("interrupted by SIGINT"));
}

TEST(Trainer, IsNotInterruptedInItsLastStep) {
  const RunOptions options = small_run();
  comm::run_ranks(2, [&](const comm::Group& world) {
    std::int64_t asked = 0;
    Hooks hooks;
    hooks.stop_signal = [&] { return ++asked == options.train.steps ? SIGTERM : 0; };
    const Summary summary = train::run(options, world, hooks);
    EXPECT_EQ(summary.steps, options.train.steps);
    EXPECT_EQ(summary.interrupted, "");
  });
}

/// Cannot be told of evaluations, as if its disk were full.
class FullSink final : public Sink {
  void start(const RunInfo& /*info*/) override {}
  void step(const StepRecord& /*step*/, const Progress& /*progress*/) override {}
  void evaluation(const EvaluationRecord& /*evaluation*/) override {
    throw IoError("no space left");
  }
  void sample(std::int64_t /*step*/, const std::string& /*text*/) override {}
  void end(const Summary& /*summary*/) override {}
};

TEST(Trainer, SumsUpWhereTheEvaluationAtTheEndFails) {
  const auto recorder = std::make_shared<Recorder>();
  const auto train = [&](const comm::Group& world) {
    const Hooks hooks{.sinks = {std::make_shared<FullSink>(), recorder}};
    static_cast<void>(train::run(small_run(), world, hooks));
  };
  EXPECT_THROW(comm::run_ranks(2, train), IoError);
  ASSERT_THAT(recorder->ended, SizeIs(1));
  EXPECT_THAT(recorder->evaluations, SizeIs(1));
  EXPECT_EQ(recorder->ended[0].steps, 6);
  EXPECT_GT(recorder->ended[0].progress.items_per_second, 0);
  EXPECT_THAT(recorder->ended[0].memory, SizeIs(0));
}

class SavingAfterTwo final : public Checkpointer {
 public:
  bool restore(TrainingState& state) override {
    state.step = 2;
    state.position = {.epoch = 0, .done = 16};
    return true;
  }
  void step_done(const TrainingState& state, bool last) override {
    seen.emplace_back(state.step, last);
  }
  std::vector<std::pair<std::int64_t, bool>> seen;
};

TEST(Trainer, GoesOnWhereTheCheckpointerSays) {
  const RunOptions options = small_run();
  const auto whole = record_run(options, 1);
  const auto checkpointer = std::make_shared<SavingAfterTwo>();
  auto recorder = std::make_shared<Recorder>();
  comm::run_ranks(1, [&](const comm::Group& world) {
    const Hooks hooks{.sinks = {recorder}, .checkpointer = checkpointer};
    static_cast<void>(train::run(options, world, hooks));
  });
  ASSERT_THAT(recorder->steps, SizeIs(4));
  EXPECT_EQ(recorder->steps[0].sample_hash, whole->steps[2].sample_hash);
  EXPECT_EQ(recorder->steps[0].step, 3);
  EXPECT_THAT(
      checkpointer->seen,
      testing::ElementsAre(
          std::pair(3, false), std::pair(4, false), std::pair(5, false), std::pair(6, true)));
}

TEST(Trainer, SaysWhereTheLossStoppedBeingANumber) {
  RunOptions options = small_run();
  options.optimizer.learning_rate = 1e30;
  options.optimizer.clip = 0;
  options.train.steps = 20;
  try {
    static_cast<void>(record_run(options, 2));
    FAIL() << "went on with a loss that is no number";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the loss of step"));
    EXPECT_THAT(error.what(), HasSubstr("learning rate"));
  }
}

TEST(Trainer, AccountsForTheWholeStep) {
  const auto run = record_run(small_run(), 2);
  double busiest = 0;
  for (const StepRecord& step : run->steps) {
    EXPECT_EQ(step.phases.total(), step.time);
    busiest = std::max(busiest, (step.phases.compute() + step.phases.communication()) / step.time);
    EXPECT_GT(step.phases.forward.count(), 0);
    EXPECT_GT(step.phases.backward.count(), 0);
    EXPECT_GT(step.phases.optimizer.count(), 0);
    EXPECT_GE(step.phases.exposed_communication.count(), 0);
  }
  // Not of each: steps take milliseconds, and one may spend more than that waiting for a core.
  EXPECT_GE(busiest, 0.1);
}

TEST(Trainer, TrainsInLowPrecision) {
  for (const Compute compute : {Compute::bf16, Compute::fp16}) {
    RunOptions options = small_run();
    options.precision.compute = compute;
    options.optimizer.learning_rate = 1e-2;
    options.train.steps = 20;
    const auto run = record_run(options, 2);
    EXPECT_LT(run->steps.back().loss, 0.9 * run->steps.front().loss);
  }
}

}  // namespace
}  // namespace sheaf::train
