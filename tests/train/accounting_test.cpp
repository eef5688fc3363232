// Steps of ranks that are threads, and what the accounting says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <chrono>
#include <thread>

#include "sheaf/comm/run_ranks.h"
#include "sheaf/models/model.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"
#include "sheaf/train/step.h"
#include "train/run_profile.h"

namespace sheaf::train {
namespace {

using ::testing::SizeIs;

constexpr std::int64_t kWidth = 8;

/// Two blocks whose forward or backward a test can hold up.
struct SlowModel final : models::Model {
  SlowModel()
      : first(register_module("first", torch::nn::Linear(kWidth, kWidth))),
        second(register_module("second", torch::nn::Linear(kWidth, kWidth))) {}

  at::Tensor forward(const at::Tensor& inputs,
                     const at::Tensor& targets,
                     const models::Pass& /*pass*/) override {
    if (in_forward) in_forward();
    at::Tensor x = sheaf::forward(*first, inputs);
    if (in_backward) {
      x.register_hook([hold = in_backward](const at::Tensor&) { hold(); });
    }
    x = sheaf::forward(*second, x.relu());
    return (x.sum(1) - targets).square().sum();
  }
  [[nodiscard]] const models::Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<std::string> blocks() const override { return {"first", "second"}; }

  std::function<void()> in_forward;
  std::function<void()> in_backward;
  torch::nn::Linear first, second;

 private:
  models::Shape shape_;
};

/// One rank that takes steps of a small model, with its accounting.
class Rank {
 public:
  Rank(const comm::Group& world, Stage stage)
      : model(std::make_shared<SlowModel>()),
        world_(world),
        profile_(RunOptions{}, world),
        state_(shard(*model, {.group = world, .stage = stage, .wrap = {.names = model->blocks()}})),
        step_({.model = model,
               .state = state_,
               .optimizer = std::make_shared<optim::AdamW>(state_.slots()),
               .group = world},
              {.micro_batch = 2}),
        clock_(at::kCPU, world) {}

  profile::Account step() {
    clock_.start();
    if (in_data) in_data();
    const data::Batch batch{.inputs = at::ones({2, kWidth}),
                            .targets = at::ones({2}, at::kLong),
                            .samples = {2 * world_.rank(), 2 * world_.rank() + 1},
                            .first_sample = 2 * world_.rank(),
                            .global_samples = 2 * world_.size()};
    clock_.mark(Phase::data_wait);
    static_cast<void>(step_.run(batch, steps_, clock_));
    profile::Account account = profile_.account(++steps_, clock_.finish()).value();
    times_ += account.times;
    return account;
  }

  [[nodiscard]] RankComparison compare() const { return profile_.compare_ranks(times_, steps_); }

  std::shared_ptr<SlowModel> model;
  std::function<void()> in_data;

 private:
  comm::Group world_;
  RunProfile profile_;
  sharding::State state_;
  TrainStep step_;
  PhaseClock clock_;
  std::int64_t steps_ = 0;
  profile::StepTimes times_;
};

std::int64_t calls_of(const profile::Account& account, comm::Kind kind, comm::Purpose purpose) {
  for (const profile::CollectiveUse& use : account.collectives) {
    if (use.collective == name(kind) && use.purpose == name(purpose)) return use.exchanged.calls;
  }
  return 0;
}

TEST(Accounting, CountsEveryExchangeThatTheGroupCounts) {
  for (const Stage stage : {Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3}) {
    comm::run_ranks(2, [&](const comm::Group& world) {
      Rank rank(world, stage);
      static_cast<void>(rank.step());
      const comm::Traffic before = world.traffic();
      const profile::Account account = rank.step();
      const comm::Traffic moved = world.traffic() - before;
      std::int64_t bytes = 0;
      for (const auto& use : account.collectives) bytes += use.exchanged.bytes.count;
      EXPECT_EQ(bytes, moved.total().bytes.count);
      for (std::size_t k = 0; k < comm::kNumKinds; ++k) {
        for (std::size_t p = 0; p < comm::kNumPurposes; ++p) {
          const auto kind = static_cast<comm::Kind>(k);
          const auto purpose = static_cast<comm::Purpose>(p);
          EXPECT_EQ(calls_of(account, kind, purpose), moved.of(kind, purpose).calls);
        }
      }
    });
  }
}

TEST(Accounting, KnowsWhatEachUnitDid) {
  comm::run_ranks(2, [&](const comm::Group& world) {
    Rank rank(world, Stage::zero3);
    static_cast<void>(rank.step());
    const profile::Account account = rank.step();
    ASSERT_THAT(account.units, SizeIs(2));
    for (const profile::UnitUse& unit : account.units) {
      EXPECT_GT(unit.forward.count(), 0) << unit.unit;
      EXPECT_GT(unit.backward.count(), 0) << unit.unit;
      EXPECT_GE(unit.gathers.calls, 1) << unit.unit;
      EXPECT_EQ(unit.reduces.calls, 1) << unit.unit;
    }
  });
}

// Much longer than a step of the model, even on a machine that is busy with other things.
constexpr std::chrono::milliseconds kHoldUp{100};

void hold_up() { std::this_thread::sleep_for(kHoldUp); }

// Every phase has at least what was put into it, and all of them no more than went by outside.
TEST(Accounting, LosesNoTime) {
  comm::run_ranks(2, [&](const comm::Group& world) {
    Rank rank(world, Stage::zero3);
    rank.in_data = hold_up;
    rank.model->in_forward = hold_up;
    rank.model->in_backward = hold_up;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t before = Recorder::now();
      const profile::StepTimes times = rank.step().times;
      const Seconds passed = std::chrono::nanoseconds(Recorder::now() - before);
      EXPECT_GE(times.data_wait, kHoldUp);
      EXPECT_GE(times.forward, kHoldUp);
      EXPECT_GE(times.backward, kHoldUp);
      EXPECT_GT(times.optimizer.count(), 0);
      EXPECT_GT(times.communication().count(), 0);
      EXPECT_GE(times.idle.count(), 0);
      EXPECT_LE(times.total(), passed);
    }
  });
}

TEST(Accounting, KnowsTheTimesOfEveryRankAtTheEnd) {
  comm::run_ranks(2, [&](const comm::Group& world) {
    Rank rank(world, Stage::ddp);
    if (world.rank() == 1) rank.in_data = hold_up;
    static_cast<void>(rank.step());
    const RankComparison all = rank.compare();
    ASSERT_THAT(all.times, SizeIs(2));
    EXPECT_GE(all.times[1].data_wait, kHoldUp);
    EXPECT_GT(all.times[0].backward.count(), 0);
  });
}

TEST(Accounting, IsSilentAfterTheRun) {
  comm::run_ranks(1, [](const comm::Group& world) {
    { Rank rank(world, Stage::ddp); }
    EXPECT_FALSE(world.recorder().listening());
  });
}

struct Hindrance {
  std::string phase;
  std::function<void(Rank&)> place;
};

class StragglerTest : public ::testing::TestWithParam<std::tuple<Stage, int>> {};

TEST_P(StragglerTest, IsNamedWithThePhaseInWhichItIsSlow) {
  const std::vector<Hindrance> hindrances = {
      {"forward", [](Rank& rank) { rank.model->in_forward = hold_up; }},
      {"backward", [](Rank& rank) { rank.model->in_backward = hold_up; }},
      {"data", [](Rank& rank) { rank.in_data = hold_up; }}};
  const Stage stage = std::get<0>(GetParam());
  const Hindrance& hindrance = hindrances[static_cast<std::size_t>(std::get<1>(GetParam()))];
  comm::run_ranks(3, [&](const comm::Group& world) {
    Rank rank(world, stage);
    static_cast<void>(rank.step());
    if (world.rank() == 1) hindrance.place(rank);
    for (int i = 0; i < 4; ++i) static_cast<void>(rank.step());
    const profile::Imbalance found = rank.compare().imbalance;
    ASSERT_TRUE(found.straggler);
    EXPECT_EQ(found.straggler->rank, 1);
    EXPECT_EQ(found.straggler->phase, hindrance.phase);
    EXPECT_FALSE(found.spreads.empty());
  });
}

INSTANTIATE_TEST_SUITE_P(StagesAndPhases,
                         StragglerTest,
                         ::testing::Combine(::testing::Values(Stage::ddp, Stage::zero3),
                                            ::testing::Values(0, 1, 2)));

}  // namespace
}  // namespace sheaf::train
