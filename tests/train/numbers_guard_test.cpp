#include "train/numbers_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "sheaf/sharding/shard.h"
#include "support/on_ranks.h"

namespace sheaf::train {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::on_ranks;
using sheaf::testing::Way;
using ::testing::HasSubstr;
using ::testing::Not;

struct Line final : torch::nn::Module {
  at::Tensor slope = register_parameter("slope", at::ones({4}));
  at::Tensor offset = register_parameter("offset", at::ones({4}));
};

/// What the guard says of a step in which the last of three ranks has made a bad gradient.
std::string told_of_a_bad_rank(bool traced) {
  std::string told;
  on_ranks(Way::shared_threads, 3, [&](const comm::Group& world) {
    RunOptions options;
    options.fault.trace_nonfinite = traced;
    Line line;
    const sharding::State state =
        shard(line, {.group = world, .stage = Stage::zero2, .trace_non_finite = traced});
    const double x = world.rank() == 2 ? std::numeric_limits<double>::infinity() : 1.0;
    (line.slope * x + line.offset).sum().backward();
    NumbersGuard guard(options, state, /*speaks=*/false);
    const StepNumbers numbers{.step = 5, .loss = 1, .finite_gradients = false};
    const std::string own = error_of([&] { static_cast<void>(guard.approve(numbers)); });
    if (world.rank() == 0) told = own;
  });
  return told;
}

TEST(NumbersGuard, NamesTheParameterThatIsNotFinite) {
  const std::string told = told_of_a_bad_rank(/*traced=*/false);
  EXPECT_THAT(told, HasSubstr("step 5 are not finite, the gradient of slope is not finite:"));
  EXPECT_THAT(told, Not(HasSubstr("offset")));
}

TEST(NumbersGuard, NamesTheRankThatMadeItWhereThatIsTraced) {
  EXPECT_THAT(told_of_a_bad_rank(/*traced=*/true),
              HasSubstr("the gradient of slope is not finite on rank 2:"));
}

}  // namespace
}  // namespace sheaf::train
