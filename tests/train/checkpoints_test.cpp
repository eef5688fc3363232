// What a run leaves in its folder of checkpoints, also when the disk or the run fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "checkpoint/failing_disk.h"
#include "checkpoint/future_manifest.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/reader.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"
#include "train/run_checkpointer.h"
#include "train/stopped_runs.h"

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using testing::FailingDisk;
using ::testing::HasSubstr;
using testing::Operation;
using ::testing::SizeIs;
using testing::TemporaryFolder;

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

TEST(Checkpoints, OfWhichTheBestIsKeptAreAllEvaluated) {
  RunOptions options = long_run("somewhere");
  options.train.evaluate = true;
  options.checkpoint.keep_best = true;
  const auto error_with = [&](std::int64_t saves, std::int64_t evaluations) {
    options.checkpoint.every = saves;
    options.train.evaluate_every = evaluations;
    return error_of([&] { check_options(options, 1); });
  };
  EXPECT_THAT(error_with(3, 2), HasSubstr("a multiple of train.evaluate_every, not 3 of 2"));
  EXPECT_THAT(error_with(3, 0), HasSubstr("an evaluation at every checkpoint"));
  EXPECT_THAT(error_with(0, 2), HasSubstr("an evaluation at every checkpoint"));
  options.checkpoint.every = 4;
  options.data.evaluation_part = 0;
  EXPECT_THAT(error_of([&] { check(options, 1); }), HasSubstr("none held out"));
}

/// What a run that could not save anything told rank 0, and how it ended.
struct UnsavedRun {
  std::shared_ptr<Recorder> told = std::make_shared<Recorder>();
  std::string error;
};

/// Trains on two ranks; the folder of checkpoints goes in the first step, after the start has made
/// it.
UnsavedRun run_without_folder(const RunOptions& options) {
  UnsavedRun run;
  run.error = error_of([&] {
    comm::run_ranks(2, [&](const comm::Group& world) {
      Hooks hooks{.sinks = {run.told}};
      hooks.stop_signal = [&] {
        if (world.rank() == 0) fs::remove_all(options.checkpoint.dir);
        return 0;
      };
      static_cast<void>(train::run(options, world, hooks));
    });
  });
  return run;
}

TEST(Checkpoints, ThatCannotBeWrittenStopTheRunIfAsked) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path("saved"));
  options.checkpoint.every = 1;
  options.checkpoint.asynchronous = false;
  options.checkpoint.on_error = OnSaveError::stop;
  const UnsavedRun run = run_without_folder(options);
  EXPECT_THAT(run.told->steps, SizeIs(1));
  EXPECT_THAT(run.error, HasSubstr("No such file or directory"));
}

TEST(Checkpoints, ThatCannotBeWrittenCostTheRunNeitherStepsNorModel) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path("saved"));
  options.checkpoint.every = 1;
  options.train.export_to = folder.path("model");
  const UnsavedRun run = run_without_folder(options);
  EXPECT_THAT(run.told->steps, SizeIs(7));
  EXPECT_TRUE(fs::exists(folder.path("model/config.json")));
  // A run that says nothing would be taken for one that can be continued.
  EXPECT_THAT(run.error, HasSubstr("the end of the run could not be saved"));
  EXPECT_THAT(run.error, HasSubstr("the newest checkpoint is none"));
}

TEST(Checkpoints, AreFinishedWhenARunDiverges) {
  for (const int ranks : {1, 2}) {
    const TemporaryFolder folder;
    RunOptions options = long_run(folder.path());
    options.checkpoint.every = 1;
    options.schedule = {};
    options.optimizer.kind = OptimizerKind::sgd;
    options.optimizer.learning_rate = 1e30;
    EXPECT_THAT(error_of([&] { static_cast<void>(run_until(options, ranks)); }),
                HasSubstr("of step 2"));
    EXPECT_THAT(checkpoint::steps_in(folder.path()), ElementsAre(1));
  }
}

TEST(Checkpoints, AreLeftOutWhileOneIsBeingWritten) {
  const TemporaryFolder folder;
  RunOptions options = long_run(folder.path());
  options.checkpoint.every = 1;
  options.checkpoint.busy = WhenBusy::skip;
  std::promise<void> may_write;
  const std::shared_future<void> allowed = may_write.get_future().share();
  const auto disk = std::make_shared<FailingDisk>([&](Operation operation, const std::string&) {
    if (operation == Operation::sync) allowed.wait();
  });
  comm::run_ranks(1, [&](const comm::Group& world) {
    const Assembly parts = assemble(options, world);
    const auto checkpointer = make_checkpointer(options, parts, disk);
    TrainingState state{.model = parts.state, .optimizer = parts.optimizer};
    const auto take_step = [&](bool last) {
      checkpointer->before_update();
      ++state.step;
      checkpointer->step_done(state, last);
    };
    take_step(/*last=*/false);
    take_step(/*last=*/false);
    may_write.set_value();
    checkpointer->finish();
    take_step(/*last=*/true);
  });
  EXPECT_THAT(checkpoint::steps_in(folder.path()), ElementsAre(1, 3));
}

/// A run with checkpoints of steps 2, 4 and 6.
class RunOfSixSteps : public ::testing::Test {
 protected:
  RunOfSixSteps() {
    options_.checkpoint.every = 2;
    options_.train.steps = 6;
    static_cast<void>(run_until(options_, 2));
    options_.train.steps = 9;
    options_.checkpoint.every = 1;
    options_.checkpoint.keep = 1;
  }

  TemporaryFolder folder_;
  RunOptions options_ = long_run(folder_.path());
};

TEST_F(RunOfSixSteps, KeepsWhatItSavesAfterOneThatCannotBeRead) {
  const std::string file = folder_.path("step-00000006/config.json");
  fs::remove(file);
  // The system refuses to follow a link to itself.
  fs::create_symlink(file, file);
  EXPECT_EQ(run_until(options_, 2, 1)->info.first_step, 4);
  EXPECT_THAT(checkpoint::steps_in(folder_.path()), ElementsAre(5));
  // And that step can be saved again.
  EXPECT_EQ(run_until(options_, 2, 1)->info.first_step, 5);
  EXPECT_THAT(checkpoint::steps_in(folder_.path()), ElementsAre(6));
  EXPECT_TRUE(fs::exists(folder_.path("step-00000006.unreadable")));
}

TEST_F(RunOfSixSteps, NeitherCountsNorRemovesOnesOfALaterVersion) {
  const std::string manifest = "step-00000006/manifest.json";
  folder_.write(manifest, testing::future_manifest(folder_.read(manifest)));
  EXPECT_EQ(run_until(options_, 2, 1)->info.first_step, 4);
  EXPECT_THAT(checkpoint::steps_in(folder_.path()), ElementsAre(5, 6));
  EXPECT_EQ(fs::read_symlink(folder_.path("latest")), "step-00000005");
  // Step 6 has no place, step 7 has one.
  EXPECT_EQ(run_until(options_, 2, 2)->info.first_step, 5);
  EXPECT_THAT(checkpoint::steps_in(folder_.path()), ElementsAre(6, 7));
}

}  // namespace
}  // namespace sheaf::train
