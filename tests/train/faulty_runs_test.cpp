// Runs whose numbers, weights or files go wrong on the way; the faults are those of drills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sheaf/checkpoint/folder.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A run with a checkpoint after every second step.
RunOptions run_in(const TemporaryFolder& folder, std::vector<std::string> faults) {
  RunOptions options = small_run();
  options.shard.stage = "ddp";
  options.batch.global = 12;
  options.train.evaluate = false;
  options.checkpoint.dir = folder.path("saved");
  options.checkpoint.every = 2;
  options.fault.inject = std::move(faults);
  return options;
}

std::string error_of_run(const RunOptions& options, int ranks) {
  return error_of([&] { static_cast<void>(record_run(options, ranks)); });
}

/// The loss of every step; of one that was taken twice, the last.
std::map<std::int64_t, double> losses(const Recorder& recorder) {
  std::map<std::int64_t, double> found;
  for (const StepRecord& step : recorder.steps) found[step.step] = step.loss;
  return found;
}

std::map<std::int64_t, double> undisturbed() {
  const TemporaryFolder folder;
  return losses(*record_run(run_in(folder, {}), 3));
}

TEST(BadNumbers, StopTheRunWithTheParametersName) {
  const TemporaryFolder folder;
  const RunOptions options =
      run_in(folder, {"set_gradient:rank=1:step=3:parameter=transformer.h.1.ln_1.weight"});
  EXPECT_THAT(error_of_run(options, 3),
              AllOf(HasSubstr("the gradients of step 3 are not finite"),
                    HasSubstr("the gradient of transformer.h.1.ln_1.weight is not finite:")));
}

TEST(BadNumbers, AreSeenWithoutClipping) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"set_gradient:rank=1:step=3:value=inf"});
  options.optimizer.clip = 0;
  options.fault.nonfinite = OnBadNumbers::skip;
  EXPECT_TRUE(record_run(options, 2)->steps.at(2).skipped);
}

TEST(BadNumbers, AreLeftOutOnAllRanks) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"set_gradient:rank=1:step=3"});
  options.fault.nonfinite = OnBadNumbers::skip;
  options.fault.sync_every = 1;
  const auto recorder = record_run(options, 3);
  for (const StepRecord& step : recorder->steps) EXPECT_EQ(step.skipped, step.step == 3);
  EXPECT_EQ(recorder->steps.size(), 6U);
}

TEST(BadNumbers, EndTheRunWhenTooManyStepsAreLeftOut) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"set_gradient:step=2", "set_gradient:step=3:value=inf"});
  options.fault.nonfinite = OnBadNumbers::skip;
  options.fault.max_skips = 1;
  EXPECT_THAT(error_of_run(options, 2), HasSubstr("1 steps in a row have been left out before it"));
}

TEST(BadNumbers, AreTakenBackByARollback) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"set_gradient:rank=1:step=6"});
  options.fault.nonfinite = OnBadNumbers::rollback;
  const auto recorder = record_run(options, 3);
  // Steps 1 to 5, back to the end of 4, and 5 and 6 again.
  EXPECT_EQ(recorder->steps.size(), 7U);
  EXPECT_EQ(losses(*recorder), undisturbed());
}

TEST(BadNumbers, CannotBeTakenBackBeforeTheFirstCheckpoint) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"set_gradient:rank=1:step=1"});
  options.fault.nonfinite = OnBadNumbers::rollback;
  EXPECT_THAT(error_of_run(options, 2), HasSubstr("there is no checkpoint to go back to yet"));
}

TEST(FlippedGradient, OfOneReplicaIsFoundInItsWeights) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"flip_gradient:rank=1:step=3:bit=20"});
  options.fault.sync_every = 1;
  EXPECT_THAT(error_of_run(options, 3),
              HasSubstr("out of sync after step 3: rank 1 differs from ranks 0 and 2 in unit"));
}

TEST(LossSpike, IsLeftOut) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {});
  // Half of what is usual is too much, so that an ordinary loss is a spike.
  options.fault.spike_factor = 0.5;
  options.fault.spike = OnBadNumbers::skip;
  const auto recorder = record_run(options, 2);
  EXPECT_TRUE(recorder->steps.at(5).skipped);
  EXPECT_FALSE(recorder->steps.at(4).skipped);
}

TEST(LossSpike, IsLeftOutWhenARollbackDidNotHelp) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {});
  options.fault.spike_factor = 0.5;
  options.fault.spike = OnBadNumbers::rollback;
  const auto recorder = record_run(options, 2);
  // Steps 1 to 5, back to the end of 4, and 5 and 6 again.
  ASSERT_EQ(recorder->steps.size(), 7U);
  EXPECT_TRUE(recorder->steps.back().skipped);
}

TEST(FlippedWeight, IsNamedWithRankAndUnit) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"flip_weight:rank=2:step=3"});
  options.fault.sync_every = 3;
  EXPECT_THAT(error_of_run(options, 3),
              HasSubstr("the weights are out of sync after step 3: rank 2 differs from ranks 0 and "
                        "1 in unit"));
}

TEST(FlippedWeight, IsFoundInAShardByItsReplica) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"flip_weight:rank=3:step=3:parameter=h.1"});
  options.shard.stage = "hybrid:zero3";
  options.mesh.replicate = 2;
  options.fault.sync_every = 3;
  EXPECT_THAT(error_of_run(options, 4),
              HasSubstr("rank 1 and rank 3 differ in unit transformer.h.1"));
}

TEST(FlippedWeight, IsTakenBackByARollback) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"flip_weight:rank=2:step=4"});
  options.fault.sync_every = 4;
  options.fault.out_of_sync = OnOutOfSync::rollback;
  const auto recorder = record_run(options, 3);
  EXPECT_EQ(recorder->steps.size(), 8U);
  EXPECT_EQ(losses(*recorder), undisturbed());
}

class DamagedCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(DamagedCheckpoint, IsPassedOverByARollback) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {GetParam(), "set_gradient:rank=1:step=5"});
  options.fault.nonfinite = OnBadNumbers::rollback;
  const auto recorder = record_run(options, 3);
  // Steps 1 to 4, back to the end of 2, and 3 to 6.
  EXPECT_EQ(recorder->steps.size(), 8U);
  EXPECT_EQ(losses(*recorder), undisturbed());
}

INSTANTIATE_TEST_SUITE_P(All,
                         DamagedCheckpoint,
                         ::testing::Values("flip_file:step=5", "truncate_file:step=5"),
                         [](const auto& way) {
                           const std::string text = way.param;
                           return text.substr(0, text.find(':'));
                         });

TEST(FullDisk, CostsTheCheckpointsOfItsStepsOnly) {
  const TemporaryFolder folder;
  RunOptions options = run_in(folder, {"full_disk:step=4"});
  options.checkpoint.asynchronous = false;
  EXPECT_EQ(losses(*record_run(options, 3)), undisturbed());
  EXPECT_EQ(checkpoint::steps_in(options.checkpoint.dir), (std::vector<std::int64_t>{2, 6}));
}

TEST(Fault, HappensOnceInARunFolder) {
  const TemporaryFolder folder;
  const RunOptions options = run_in(folder, {"set_gradient:rank=1:step=5"});
  EXPECT_THAT(error_of_run(options, 2), HasSubstr("the gradients of step 5"));
  EXPECT_EQ(record_run(options, 2)->ended.at(0).progress.counted_steps > 0, true);
}

TEST(SlowRank, ChangesNothingButTime) {
  const TemporaryFolder folder;
  const RunOptions options = run_in(folder, {"slow:rank=1:step=2:steps=2:time=10ms"});
  EXPECT_EQ(losses(*record_run(options, 3)), undisturbed());
}

}  // namespace
}  // namespace sheaf::train
