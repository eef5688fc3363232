// A run that is stopped and started again ends as if it had never stopped: the same losses, samples
// and weights, to the last bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sheaf/checkpoint/folder.h"
#include "support/same_tensors.h"
#include "support/temporary_folder.h"
#include "train/stopped_runs.h"

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using testing::TemporaryFolder;

void expect_exact_resume(RunOptions options, int ranks) {
  const TemporaryFolder folder;
  options.checkpoint.dir = folder.path("whole");
  const auto whole = run_until(options, ranks);
  options.checkpoint.dir = folder.path("stopped");
  ASSERT_THAT(run_until(options, ranks, 3)->steps, SizeIs(3));
  const auto rest = run_until(options, ranks);
  ASSERT_THAT(rest->steps, SizeIs(4));
  EXPECT_EQ(rest->info.first_step, 3);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rest->steps[i].step, whole->steps[i + 3].step);
    EXPECT_EQ(rest->steps[i].loss, whole->steps[i + 3].loss) << "step " << i + 3;
    EXPECT_EQ(rest->steps[i].gradient_norm, whole->steps[i + 3].gradient_norm);
    EXPECT_EQ(rest->steps[i].learning_rate, whole->steps[i + 3].learning_rate);
    EXPECT_EQ(rest->steps[i].sample_hash, whole->steps[i + 3].sample_hash);
  }
  testing::require_same_tensors(folder.path("stopped/latest"), folder.path("whole/latest"));
}

class Resume : public ::testing::TestWithParam<std::tuple<std::string, int>> {};
INSTANTIATE_TEST_SUITE_P(
    Stages,
    Resume,
    ::testing::Combine(::testing::Values("ddp", "ddp:flat", "zero1", "zero2", "zero3"),
                       ::testing::Values(1, 2, 3)));

TEST_P(Resume, EndsAsIfItHadNeverStopped) {
  RunOptions options = long_run("");
  options.shard.stage = std::get<0>(GetParam());
  options.batch.micro = 2;
  expect_exact_resume(options, std::get<1>(GetParam()));
}

TEST(Resume, IsExactOnAHybridMesh) {
  RunOptions options = long_run("");
  options.shard.stage = "hybrid:zero3";
  options.mesh.replicate = 2;
  expect_exact_resume(options, 4);
}

TEST(Resume, IsExactInLowPrecision) {
  for (const Compute compute : {Compute::bf16, Compute::fp16}) {
    RunOptions options = long_run("");
    options.precision.compute = compute;
    // It grows within the run, so that a scale or a count that is forgotten shows.
    options.precision.scaler.growth_interval = 2;
    options.precision.scaler.initial_scale = 256;
    expect_exact_resume(options, 2);
  }
}

TEST(Resume, IsExactWithMomentum) {
  RunOptions options = long_run("");
  options.optimizer.kind = OptimizerKind::sgd;
  expect_exact_resume(options, 2);
}

TEST(Resume, IsExactAfterSynchronousSaves) {
  RunOptions options = long_run("");
  options.checkpoint.asynchronous = false;
  options.checkpoint.every = 2;
  expect_exact_resume(options, 2);
}

TEST(Resume, GoesOnWithOtherRanksAndAnotherStage) {
  // As in the test of rank invariance: sums are rounded otherwise.
  constexpr double kTolerance = 2e-5;
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path("whole"));
  const auto whole = run_until(options, 1);
  options.checkpoint.dir = folder.path("stopped");
  options.shard.stage = "zero1";
  static_cast<void>(run_until(options, 3, 3));
  options.shard.stage = "zero3";
  const auto rest = run_until(options, 2);
  ASSERT_THAT(rest->steps, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(rest->steps[i].loss, whole->steps[i + 3].loss, kTolerance);
    EXPECT_EQ(rest->steps[i].sample_hash, whole->steps[i + 3].sample_hash);
  }
}

TEST(Resume, TakesNoStepWhenTheRunIsOver) {
  const TemporaryFolder folder;
  const RunOptions options = long_run(folder.path());
  static_cast<void>(run_until(options, 2));
  const auto again = run_until(options, 2);
  EXPECT_THAT(again->steps, SizeIs(0));
  EXPECT_THAT(again->ended, SizeIs(1));
}

TEST(Resume, UsesTheCheckpointBeforeADamagedOne) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path());
  options.checkpoint.every = 2;
  static_cast<void>(run_until(options, 2, 5));
  EXPECT_THAT(checkpoint::steps_in(folder.path()), ElementsAre(2, 4, 5));
  fs::resize_file(folder.path("step-00000005/state.safetensors"), 100);
  const auto rest = run_until(options, 2);
  EXPECT_EQ(rest->info.first_step, 4);
  EXPECT_THAT(rest->steps, SizeIs(3));
}

}  // namespace
}  // namespace sheaf::train
