#include "sheaf/sharding/loss_scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <limits>

#include "sheaf/optim/sgd.h"
#include "sheaf/sharding/shard.h"
#include "support/on_ranks.h"

namespace sheaf::sharding {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::on_ranks;
using testing::require;
using testing::Way;

constexpr Stage kStages[]{Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3};

/// One weight of four elements, all ones; its gradient is what the model is multiplied with.
struct Weight : torch::nn::Module {
  Weight() : values(register_parameter("values", at::ones({4}))) {}
  at::Tensor loss(double factor) { return (values * factor).sum(); }
  at::Tensor values;
};

TEST(LossScaler, GivesTheStepThatGoesWithoutIt) {
  for (const Stage stage : kStages) {
    on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
      Weight model;
      const State state = shard(model, {.group = world, .stage = stage});
      optim::Sgd optimizer(state.slots(), {.learning_rate = 0.5});
      LossScaler scaler(state, {.initial_scale = 1024});
      scaler.scale(model.loss(0.25)).backward();
      require(scaler.unscale(), "the gradients are finite");
      optimizer.step();
      // Two ranks sum up to 0.5, and half of that is stepped.
      testing::require_equal(state.gather_full().at("values"), at::full({4}, 0.75), "weight");
    });
  }
}

TEST(LossScaler, LeavesAStepOutOnAllRanksWhenOneOverflows) {
  for (const Stage stage : kStages) {
    on_ranks(Way::shared_threads, 3, [&](const comm::Group& world) {
      Weight model;
      const State state = shard(model, {.group = world, .stage = stage});
      LossScaler scaler(state, {.initial_scale = 8});
      const bool bad = world.rank() == 1;
      scaler.scale(model.loss(bad ? std::numeric_limits<double>::infinity() : 1.0)).backward();
      require(!scaler.unscale(), "one rank has infinite gradients");
      require(scaler.current_scale() == 4, "the scale backs off");
      scaler.scale(model.loss(1.0)).backward();
      require(scaler.unscale(), "the next step has forgotten them");
    });
  }
}

TEST(LossScaler, GrowsAfterEnoughGoodSteps) {
  on_ranks(Way::shared_threads, 1, [&](const comm::Group& world) {
    Weight model;
    const State state = shard(model, {.group = world});
    LossScaler scaler(state, {.initial_scale = 2, .growth_interval = 3});
    for (int step = 0; step < 3; ++step) {
      require(scaler.current_scale() == 2, "not yet");
      scaler.scale(model.loss(1)).backward();
      require(scaler.unscale(), "finite");
      state.zero_gradients();
    }
    require(scaler.current_scale() == 4 && scaler.good_steps() == 0, "grown");
  });
}

TEST(LossScaler, RefusesOptionsThatCannotBe) {
  comm::run_ranks(1, [](const comm::Group& world) {
    Weight model;
    const State state = shard(model, {.group = world});
    EXPECT_THAT(error_of([&] { LossScaler(state, {.backoff_factor = 2}); }), HasSubstr("and 2"));
  });
}

}  // namespace
}  // namespace sheaf::sharding
