// A run that is stopped and started again ends as if it had never stopped: the same losses, samples
// and weights, to the last bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/reader.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TemporaryFolder;

/// Dropout and accumulation on, and an epoch that ends on the way.
RunOptions long_run(const std::string& folder) {
  RunOptions options = small_run();
  options.model.dropout = 0.1;
  options.model.attention_dropout = 0.1;
  options.data.size = 900;
  options.batch.global = 12;
  options.train.steps = 7;
  options.train.evaluate = false;
  options.schedule.kind = optim::ScheduleKind::cosine;
  options.schedule.warmup_steps = 2;
  options.checkpoint.dir = folder;
  return options;
}

/// Runs until `stop_after` steps of this run are done; -1: to the end.
std::shared_ptr<Recorder> run_until(const RunOptions& options, int ranks, int stop_after = -1) {
  auto recorder = std::make_shared<Recorder>();
  comm::run_ranks(ranks, [&](const comm::Group& world) {
    int asked = 0;
    Hooks hooks{.sinks = {recorder}};
    hooks.stop_signal = [&] { return ++asked == stop_after ? SIGTERM : 0; };
    static_cast<void>(train::run(options, world, hooks));
  });
  return recorder;
}

void expect_same_tensors(const std::string& actual, const std::string& expected) {
  const checkpoint::Reader a(actual);
  const checkpoint::Reader b(expected);
  ASSERT_EQ(a.manifest().tensors.size(), b.manifest().tensors.size());
  for (const auto& [tensor, file, offset, pieces] : b.manifest().tensors) {
    const at::Tensor got = at::empty({tensor.numel()}, tensor.dtype);
    const at::Tensor wanted = at::empty({tensor.numel()}, tensor.dtype);
    a.read(tensor.name, 0, got);
    b.read(tensor.name, 0, wanted);
    testing::require_equal(got, wanted, tensor.name);
  }
}

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
  expect_same_tensors(folder.path("stopped/latest"), folder.path("whole/latest"));
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

TEST(Checkpoints, AreSavedWhenTheyAreDueAndKeptAsAsked) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path());
  options.checkpoint.every = 1;
  options.checkpoint.keep = 2;
  options.checkpoint.keep_every = 3;
  static_cast<void>(run_until(options, 2));
  EXPECT_THAT(checkpoint::steps_in(folder.path()), ElementsAre(3, 6, 7));
}

TEST(Checkpoints, KeepTheBest) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path());
  options.train.evaluate = true;
  options.train.evaluate_every = 1;
  options.checkpoint.every = 1;
  options.checkpoint.keep = 1;
  options.checkpoint.keep_best = true;
  const auto run = run_until(options, 2);
  // The last step is saved before it is evaluated.
  const auto best = std::min_element(run->evaluations.begin(),
                                     run->evaluations.end() - 1,
                                     [](const auto& a, const auto& b) { return a.loss < b.loss; });
  EXPECT_THAT(checkpoint::steps_in(folder.path()), ElementsAre(best->step, 7));
}

TEST(Checkpoints, RefuseAnotherRun) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path());
  static_cast<void>(run_until(options, 2, 2));
  RunOptions other = options;
  other.model.width = 64;
  EXPECT_THAT(error_of([&] { static_cast<void>(run_until(other, 2)); }),
              HasSubstr("cannot be resumed: it is of another run"));
  other = options;
  other.optimizer.kind = OptimizerKind::sgd;
  EXPECT_THAT(error_of([&] { static_cast<void>(run_until(other, 2)); }), HasSubstr("another run"));
  other = options;
  other.data.size = 4000;
  EXPECT_THAT(error_of([&] { static_cast<void>(run_until(other, 2)); }), HasSubstr("other data"));
  other = options;
  other.checkpoint.resume = false;
  EXPECT_THAT(error_of([&] { static_cast<void>(run_until(other, 2)); }),
              HasSubstr("take another folder"));
}

TEST(Checkpoints, NeedAFolderAndEvaluations) {
  RunOptions options = long_run("");
  options.checkpoint.every = 2;
  EXPECT_THAT(error_of([&] { check_options(options, 1); }), HasSubstr("needs checkpoint.dir"));
  options = long_run("somewhere");
  options.checkpoint.keep_best = true;
  EXPECT_THAT(error_of([&] { check_options(options, 1); }), HasSubstr("train.evaluate"));
}

TEST(Checkpoints, ThatCannotBeWrittenStopTheRunOnlyIfAsked) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path());
  options.checkpoint.every = 1;
  options.checkpoint.on_error = OnSaveError::stop;
  const auto refuse = [&](const comm::Group& world) {
    Hooks hooks;
    hooks.stop_signal = [&] {
      // The folder goes after the start, which makes it.
      fs::remove_all(folder.path());
      return 0;
    };
    static_cast<void>(train::run(options, world, hooks));
  };
  EXPECT_THROW(comm::run_ranks(2, refuse), IoError);
  options.checkpoint.on_error = OnSaveError::warn;
  comm::run_ranks(2, refuse);
}

}  // namespace
}  // namespace sheaf::train
