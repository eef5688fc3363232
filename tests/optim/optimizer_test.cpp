#include "sheaf/optim/optimizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "optim/flat_slots.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/sgd.h"
#include "support/on_ranks.h"

namespace sheaf::optim {
namespace {

using sheaf::testing::error_of;
using sheaf::testing::FlatSlots;
using ::testing::ElementsAre;

/// Three slots in twelve elements, with one element of padding at 7 and two at the end.
std::shared_ptr<FlatSlots> three_slots() {
  std::vector<Slot> slots{{.name = "a", .shape = {4}, .offset = 0, .size = 4},
                          {.name = "b", .shape = {3, 1}, .offset = 4, .size = 3},
                          {.name = "c", .shape = {2}, .offset = 8, .size = 2}};
  auto source = std::make_shared<FlatSlots>(at::ones({12}), slots);
  source->current_gradient = at::full({12}, 0.5);
  return source;
}

/// Keeps what it is called with.
class Recorder final : public Optimizer {
 public:
  explicit Recorder(Slots slots, std::vector<ParameterRule> rules = {})
      : Optimizer(std::move(slots), {.settings = {1, 0.5}, .rules = std::move(rules)}) {}

  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> all;
    for (const Run& run : runs) all.push_back(run.master.numel());
    return all;
  }

  std::vector<Run> runs;

 private:
  void update(std::span<const Run> given) override {
    runs.insert(runs.end(), given.begin(), given.end());
  }
};

TEST(Optimizer, TakesAStepInTheOrderOfTheInterface) {
  const auto source = three_slots();
  Adam optimizer(source);
  optimizer.step();
  optimizer.step();
  EXPECT_THAT(source->calls,
              ElementsAre("begin_step",
                          "gradient",
                          "new_state exp_avg",
                          "new_state exp_avg_sq",
                          "stepped",
                          "end_step",
                          "begin_step",
                          "gradient",
                          "stepped",
                          "end_step"));
}

TEST(Optimizer, JoinsNeighboursWithEqualSettings) {
  Recorder optimizer(three_slots());
  optimizer.step();
  EXPECT_THAT(optimizer.sizes(), ElementsAre(7, 2));
}

TEST(Optimizer, StepsSlotsWithOtherSettingsApart) {
  Recorder optimizer(three_slots(),
                     {{.max_dims = 1, .learning_rate_factor = 3, .weight_decay = 0}});
  optimizer.step(0.5);
  ASSERT_THAT(optimizer.sizes(), ElementsAre(4, 3, 2));
  EXPECT_EQ(optimizer.runs[0].learning_rate, 1.5);
  EXPECT_EQ(optimizer.runs[0].weight_decay, 0);
  EXPECT_EQ(optimizer.runs[1].learning_rate, 0.5);
  EXPECT_EQ(optimizer.runs[1].weight_decay, 0.5);
}

TEST(Optimizer, StepsSlotsWithOtherStepCountsApart) {
  const auto source = three_slots();
  Recorder optimizer(source);
  source->sitting_out = {1};
  optimizer.step();
  source->sitting_out = {};
  optimizer.step();
  ASSERT_THAT(optimizer.sizes(), ElementsAre(4, 2, 4, 3, 2));
  EXPECT_EQ(optimizer.runs[2].step, 2);
  EXPECT_EQ(optimizer.runs[3].step, 1);
}

TEST(Optimizer, LeavesPaddingAndSlotsThatSitOutAsTheyAre) {
  const auto source = three_slots();
  AdamW optimizer(source, {.learning_rate = 0.1, .weight_decay = 0.5});
  source->sitting_out = {0};
  optimizer.step();
  const at::Tensor moved = source->segment().master.ne(1).to(at::kLong);
  EXPECT_TRUE(moved.equal(at::tensor({0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0}, at::kLong))) << moved;
  const at::Tensor has_state = optimizer.state("exp_avg", 0).ne(0).to(at::kLong);
  EXPECT_TRUE(has_state.equal(moved)) << has_state;
}

TEST(Optimizer, StepsASlotThatSatOutAsIfTheStepHadNotBeen) {
  const auto interrupted = three_slots();
  AdamW optimizer(interrupted, {.learning_rate = 0.1});
  optimizer.step();
  interrupted->sitting_out = {1};
  interrupted->current_gradient = at::full({12}, 7.0);
  optimizer.step();
  interrupted->sitting_out = {};
  interrupted->current_gradient = at::full({12}, 0.25);
  optimizer.step();

  const auto straight = three_slots();
  AdamW reference(straight, {.learning_rate = 0.1});
  reference.step();
  straight->current_gradient = at::full({12}, 0.25);
  reference.step();
  EXPECT_TRUE(interrupted->segment().master.narrow(0, 4, 3).equal(
      straight->segment().master.narrow(0, 4, 3)));
}

TEST(Optimizer, LeavesASegmentWithoutGradientAsItIs) {
  const auto source = three_slots();
  source->current_gradient = at::Tensor();
  AdamW optimizer(source);
  optimizer.step();
  EXPECT_TRUE(source->segment().master.equal(at::ones({12})));
  EXPECT_EQ(optimizer.step_counts(), (StepCounts{.steps = 1, .slots = {{0, 0, 0}}}));
  EXPECT_THAT(source->calls, ElementsAre("begin_step", "gradient", "end_step"));
}

TEST(Optimizer, CountsStepsOfSlotsThatAreKeptElsewhere) {
  const auto source =
      std::make_shared<FlatSlots>(at::ones({2}),
                                  std::vector<Slot>{{.name = "elsewhere", .shape = {5}},
                                                    {.name = "here", .shape = {2}, .size = 2}});
  source->current_gradient = at::ones({2});
  Recorder optimizer(source);
  optimizer.step();
  EXPECT_THAT(optimizer.sizes(), ElementsAre(2));
  EXPECT_EQ(optimizer.step_counts(), (StepCounts{.steps = 1, .slots = {{1, 1}}}));
}

TEST(Optimizer, ContinuesFromSavedStatesBitForBit) {
  const auto straight = three_slots();
  AdamW first(straight, {.learning_rate = 0.1});
  first.step();
  const auto resumed = three_slots();
  AdamW second(resumed, {.learning_rate = 0.1});
  resumed->segment().master.copy_(straight->segment().master);
  for (const auto& name : first.state_names()) second.state(name, 0).copy_(first.state(name, 0));
  second.set_step_counts(first.step_counts());
  first.step();
  second.step();
  EXPECT_EQ(second.num_steps(), 2);
  EXPECT_TRUE(resumed->segment().master.equal(straight->segment().master));
}

TEST(Optimizer, RefusesStepCountsOfOtherSlots) {
  AdamW optimizer(three_slots());
  EXPECT_EQ(error_of([&] {
              optimizer.set_step_counts({.steps = 1, .slots = {{1, 1}}});
            }),
            "step counts must have one count for each slot of the 1 segments, got other slots in 1 "
            "segments");
  EXPECT_EQ(error_of([&] {
              optimizer.set_step_counts({.steps = 1, .slots = {{1, -1, 1}}});
            }),
            "the steps of a slot must be at least 0, got -1");
}

TEST(Optimizer, RefusesStatesThereAreNot) {
  AdamW optimizer(three_slots());
  EXPECT_EQ(error_of([&] { (void)optimizer.state("exp", 0); }),
            "the optimizer's states are exp_avg or exp_avg_sq, not 'exp'");
  EXPECT_EQ(error_of([&] { (void)optimizer.state("exp_avg", 3); }),
            "the optimizer has 1 segments, and none is number 3");
}

TEST(Optimizer, RefusesMastersItCannotStep) {
  const auto source = std::make_shared<FlatSlots>(at::ones({2}, at::kHalf), std::vector<Slot>{});
  EXPECT_EQ(error_of([&] { AdamW optimizer(source); }),
            "optimizers step fp32, fp64 and bf16 parameters, got Half");
}

TEST(Optimizer, RefusesANegativeFactor) {
  AdamW optimizer(three_slots());
  EXPECT_EQ(error_of([&] { optimizer.step(-1); }),
            "the factor of the learning rate must be at least 0, got -1");
}

}  // namespace
}  // namespace sheaf::optim
