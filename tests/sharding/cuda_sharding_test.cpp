// The same engine on a GPU: streams and events in place of a communication thread.
#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sharding/strategies.h"
#include "sharding/training.h"
#include "sheaf/comm/init.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

// In fp64, as on the CPU; kernels of the GPU sum in another order.
constexpr double kTolerance = 1e-8;

class CudaSharding : public ::testing::TestWithParam<Task> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no GPU here";
  }
};

TEST_P(CudaSharding, EveryStrategyTakesTheStepsOfTheCpu) {
  Course course{.steps = 10, .accumulation = 3, .dtype = at::kDouble};
  const Outcome expected = train_alone(GetParam(), course);
  course.device = at::Device(at::kCUDA, 0);
  const comm::Group world = comm::init({.device = comm::DeviceKind::cuda});
  for (const Strategy& strategy : all_strategies(1)) {
    const Outcome actual = train_sharded(GetParam(), course, over(strategy, world));
    EXPECT_NO_THROW(require_close(actual, expected, kTolerance, strategy.name));
  }
}

// Two processes on one GPU, which meet through gloo. The parent must not touch CUDA before the
// fork.
TEST(CudaShardingProcesses, TakeTheStepsOfTheCpu) {
  if (!std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "no GPU here";
  const auto outcomes = comm::run_ranks_forked(
      2,
      [](const comm::Group& world) {
        Course course{.steps = 5, .dtype = at::kDouble};
        const Outcome expected = train_alone(gpt_task(), course);
        course.device = at::Device(at::kCUDA, 0);
        for (const Strategy& strategy : all_strategies(2)) {
          const Outcome actual = train_sharded(gpt_task(), course, over(strategy, world));
          require_close(actual, expected, kTolerance, strategy.name);
        }
      },
      {.backend = comm::BackendKind::gloo, .timeout = Seconds(60)});
  for (const comm::RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

INSTANTIATE_TEST_SUITE_P(All,
                         CudaSharding,
                         ::testing::ValuesIn(all_tasks()),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace sheaf::testing
