// Steps that are given to a GPU behind one another; skipped where there is none.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "comm/device_stamp.h"
#include "sheaf/comm/init.h"
#include "sheaf/train/phase_clock.h"
#include "support/temporary_folder.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::SizeIs;

// Of losses near 5, in fp32; tests of whole runs compare bits.
constexpr double kRounding = 1e-4;

class StepsAheadOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  }

  /// Trains steps that are CUDA graphs.
  RunOptions options(std::int64_t steps) const {
    RunOptions run = small_run();
    run.comm.device = comm::DeviceKind::cuda;
    run.train.graph = GraphUse::on;
    run.model.dropout = 0;
    run.model.attention_dropout = 0;
    run.train.evaluate = false;
    run.train.steps = steps;
    return run;
  }

  std::shared_ptr<Recorder> train(const RunOptions& run,
                                  const std::function<int()>& stop_signal = {}) {
    auto recorder = std::make_shared<Recorder>();
    Hooks hooks{.sinks = {recorder}};
    hooks.stop_signal = stop_signal;
    set_up_process(run);
    static_cast<void>(train::run(run, comm::init({.device = comm::DeviceKind::cuda}), hooks));
    return recorder;
  }

  testing::TemporaryFolder folder_;
};

std::vector<double> losses(const Recorder& run) {
  std::vector<double> all;
  for (const StepRecord& step : run.steps) all.push_back(step.loss);
  return all;
}

/// Keeps the GPU busy for some milliseconds.
void compute() {
  at::Tensor x = at::ones({2048, 2048}, at::kCUDA);
  for (int i = 0; i < 40; ++i) x = at::mm(x, x) / 2048;
}

TEST_F(StepsAheadOnCuda, LastFromTheEndOfTheOneBefore) {
  const comm::Group group = comm::init({.device = comm::DeviceKind::cuda});
  const at::Device device(at::kCUDA, 0);
  sheaf::Recorder recorder = group.recorder();
  recorder.listen(true);
  PhaseClock first(device, group), second(device, group);
  first.start();
  const auto begin = comm::stamp_now(comm::current_stream(device));
  compute();
  recorder.add({.kind = SpanKind::collective, .what = "of the first"},
               begin,
               comm::stamp_now(comm::current_stream(device)));
  first.mark(Phase::forward);
  second.start_behind(first);
  compute();
  second.mark(Phase::forward);
  const StepSpans one = first.finish();
  second.follow(first);
  const StepSpans two = second.finish();
  EXPECT_EQ(two.window.begin, one.window.end);
  ASSERT_THAT(one.spans, SizeIs(2));
  ASSERT_THAT(two.spans, SizeIs(1));
  EXPECT_EQ(one.spans[1].what, "of the first");
  EXPECT_LE(one.spans[1].end, one.spans[0].end);
  EXPECT_GE(two.spans[0].begin, one.spans[0].end);
  EXPECT_GT(two.spans[0].end, two.spans[0].begin);
}

TEST_F(StepsAheadOnCuda, LearnWhatStepsOneByOneDo) {
  RunOptions plain = options(14);
  plain.train.graph = GraphUse::off;
  const auto ahead = train(options(14)), one_by_one = train(plain);
  EXPECT_THAT(ahead->steps, SizeIs(14));
  EXPECT_THAT(losses(*ahead), Pointwise(DoubleNear(kRounding), losses(*one_by_one)));
}

// The one that is under way when a step tells of the signal is taken, too.
TEST_F(StepsAheadOnCuda, EndWithTheOneUnderWayWhenASignalComes) {
  RunOptions run = options(20);
  run.schedule.total_steps = 20;
  run.checkpoint.dir = folder_.path("stopped");
  int asked = 0;
  const auto stopped = train(run, [&] { return ++asked == 9 ? SIGTERM : 0; });
  EXPECT_THAT(stopped->steps, SizeIs(10));
  EXPECT_THAT(stopped->ended.front().interrupted, HasSubstr("SIGTERM"));
  const auto rest = train(run);
  run.checkpoint.dir = folder_.path("whole");
  const std::vector<double> whole = losses(*train(run));
  ASSERT_THAT(rest->steps, SizeIs(10));
  EXPECT_THAT(losses(*rest),
              Pointwise(DoubleNear(kRounding), std::vector(whole.begin() + 10, whole.end())));
}

}  // namespace
}  // namespace sheaf::train
