// Parameters that are stepped within backward: the same bits as after it, as early as can be, and
// where it cannot be nothing is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "sharding/strategies.h"
#include "sharding/tower.h"
#include "sharding/training.h"
#include "sharding/trial_models.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;

class StepInBackward : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(StepInBackward, GivesTheBitsOfAStepAfterIt) {
  const int num_ranks = std::get<0>(GetParam()), accumulation = std::get<1>(GetParam());
  on_ranks(Way::shared_threads, num_ranks, [&](const comm::Group& world) {
    for (const Task& task : all_tasks()) {
      for (const Strategy& strategy : all_strategies(world.size())) {
        Course course{.steps = 4, .accumulation = accumulation};
        const Outcome after = train_sharded(task, course, over(strategy, world));
        course.in_backward = true;
        const Outcome within = train_sharded(task, course, over(strategy, world));
        require_same_bits(within, after, task.name + ", " + strategy.name);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All,
                         StepInBackward,
                         ::testing::Combine(::testing::Values(1, 2, 4), ::testing::Values(1, 3)),
                         [](const auto& given) {
                           return std::to_string(std::get<0>(given.param)) + "_ranks_" +
                                  std::to_string(std::get<1>(given.param)) + "_passes";
                         });

/// Returns the first weight of the tower's last block, as this rank keeps it.
float last_block_weight(const sharding::State& state) {
  for (const auto& slice : state.slices()) {
    if (slice.name == "blocks.3.linear.weight") return slice.values[0].item<float>();
  }
  throw std::logic_error("the tower has no block 3");
}

TEST(StepInBackwardTest, StepsABlockBeforeBackwardComesToTheFirst) {
  const comm::Group one = comm::fake_group(1);
  for (const Stage stage : {Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3}) {
    Tower model({});
    // A bucket, or a unit, for each block.
    const auto state = shard(
        model,
        {.group = one, .stage = stage, .buckets = {.cap = Bytes{512}, .first_cap = Bytes{64}}});
    optim::AdamW optimizer(state.slots());
    const float start = last_block_weight(state);
    float seen = start;
    model.on_backward = [&](std::size_t block) {
      if (block == 0) seen = last_block_weight(state);
    };
    const at::Tensor loss = sheaf::forward(model, at::ones({2, 16}));
    ASSERT_TRUE(optimizer.step_in_backward());
    loss.backward();
    EXPECT_NE(seen, start) << name_of(stage);
    optimizer.step();
    EXPECT_EQ(last_block_weight(state), seen) << name_of(stage);
    EXPECT_EQ(optimizer.num_steps(), 1);
  }
}

/// A tower on one rank under ddp, in one bucket.
class StepInBackwardOfATower : public ::testing::Test {
 protected:
  explicit StepInBackwardOfATower(const TowerOptions& tower = {}, bool find_unused = false)
      : model(tower),
        state(shard(
            model,
            {.group = comm::fake_group(1), .stage = Stage::ddp, .find_unused = find_unused})) {}

  void run_pass() { sheaf::forward(model, at::ones({2, 16})).backward(); }
  [[nodiscard]] float weight() const { return last_block_weight(state); }
  /// Expects a pass that changes nothing.
  void expect_pass_without_step() {
    const float start = weight();
    run_pass();
    EXPECT_EQ(weight(), start);
  }
  void expect_step(optim::Optimizer& optimizer) {
    const float start = weight();
    optimizer.step();
    EXPECT_NE(weight(), start);
  }

  Tower model;
  sharding::State state;
};

class StepInBackwardWithUnused : public StepInBackwardOfATower {
 protected:
  StepInBackwardWithUnused() : StepInBackwardOfATower({.idle = true}, /*find_unused=*/true) {}
};

TEST_F(StepInBackwardOfATower, IsForTheNextPassAlone) {
  optim::AdamW optimizer(state.slots());
  ASSERT_TRUE(optimizer.step_in_backward());
  run_pass();
  optimizer.step();
  expect_pass_without_step();
  expect_step(optimizer);
}

TEST_F(StepInBackwardWithUnused, IsRefused) {
  optim::AdamW optimizer(state.slots());
  EXPECT_FALSE(optimizer.step_in_backward());
  expect_pass_without_step();
  expect_step(optimizer);
}

TEST_F(StepInBackwardOfATower, EndsWithItsOptimizer) {
  {
    optim::AdamW optimizer(state.slots());
    ASSERT_TRUE(optimizer.step_in_backward());
  }
  expect_pass_without_step();
}

TEST_F(StepInBackwardOfATower, LeavesNothingBehindWhenThePassFails) {
  optim::AdamW optimizer(state.slots());
  model.on_backward = [](std::size_t block) {
    if (block == 1) throw std::runtime_error("lost");
  };
  ASSERT_TRUE(optimizer.step_in_backward());
  EXPECT_THROW(run_pass(), std::runtime_error);
  model.on_backward = nullptr;
  EXPECT_NE(error_of([&] { optimizer.step(); }), "");
  // All of the next pass counts, and it is stepped after it.
  run_pass();
  expect_step(optimizer);
}

TEST_F(StepInBackwardOfATower, IsTakenBackByAStepThatNeededNoPass) {
  {
    optim::AdamW optimizer(state.slots());
    run_pass();
    ASSERT_TRUE(optimizer.step_in_backward());
    optimizer.step();
  }
  expect_pass_without_step();
}

TEST_F(StepInBackwardOfATower, SaysSoWhenASecondPassComesBeforeTheStep) {
  optim::AdamW optimizer(state.slots());
  ASSERT_TRUE(optimizer.step_in_backward());
  run_pass();
  EXPECT_THAT(error_of([&] { run_pass(); }), HasSubstr("call step() before the next pass"));
}

/// Has a second backward pass within the first, which adds to what is complete by then.
struct Nested final : TinyModel {
  Nested()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(register_module("second", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = sheaf::forward(*first, inputs);
    x.register_hook([this](const at::Tensor&) {
      const at::AutoGradMode with_gradients(true);
      sheaf::forward(*second, at::ones({1, kFeatures}, at::kDouble)).sum().backward();
    });
    return sum_of_losses(sheaf::forward(*second, x), targets);
  }
  Layer first, second;
};

TEST(StepInBackwardTest, HasNewParametersArriveAlsoAfterAPassThatFails) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    Tower model({});
    const auto state = shard(model,
                             {.group = world,
                              .stage = Stage::zero1,
                              .buckets = {.cap = Bytes{512}, .first_cap = Bytes{64}}});
    optim::AdamW optimizer(state.slots());
    model.on_backward = [](std::size_t block) {
      if (block == 0) throw std::runtime_error("lost");
    };
    require(optimizer.step_in_backward(), "it must be possible");
    EXPECT_THROW(sheaf::forward(model, at::ones({2, 16})).backward(), std::runtime_error);
    model.on_backward = nullptr;
    at::Tensor loss = sheaf::forward(model, at::ones({2, 16})).detach().clone();
    const at::Tensor own = loss.clone();
    world.all_reduce(loss).wait();
    require_equal(loss, own + own, "both ranks must have the same parameters");
  });
}

TEST(StepInBackwardTest, SaysSoWhenANestedPassComesTooLate) {
  const comm::Group one = comm::fake_group(1);
  const auto model = built<Nested>();
  const auto state = shard(
      *model,
      {.group = one, .stage = Stage::ddp, .buckets = {.cap = Bytes{64}, .first_cap = Bytes{64}}});
  optim::AdamW optimizer(state.slots());
  one_pass(*model, random_batch(0));
  optimizer.step();
  ASSERT_TRUE(optimizer.step_in_backward());
  EXPECT_THAT(error_of([&] { one_pass(*model, random_batch(1)); }),
              HasSubstr("do without step_in_backward() where passes are nested"));
}

}  // namespace
}  // namespace sheaf::testing
