// Blocks claimed one by one, inside out, before the model around them is sharded.
#include "sharding/block_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sharding/trial_models.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Moments = std::vector<std::string>;

/// Claims two layers, the second to be kept from forward to backward.
std::shared_ptr<Stack> claimed_stack() {
  const auto model = std::dynamic_pointer_cast<Stack>(built<Stack>());
  fully_shard(*model->first);
  fully_shard(*model->second, {.reshard_after_forward = false});
  return model;
}

std::vector<std::string> unit_names(const sharding::State& state) {
  std::vector<std::string> names;
  for (const sharding::UnitInfo& unit : state.units()) names.push_back(unit.name);
  return names;
}

/// Returns how often something happened to a unit in a step after the first.
std::ptrdiff_t times(const comm::Group& world, sharding::EventKind kind, const std::string& unit) {
  std::ptrdiff_t count = 0;
  const auto model = claimed_stack();
  const sharding::State state =
      fully_shard(*model, {.group = world, .on_event = [&](const sharding::Event& event) {
                             count += event.kind == kind && event.unit == unit ? 1 : 0;
                           }});
  optim::AdamW optimizer(state.slots());
  for (int step = 0; step < 2; ++step) {
    count = 0;
    one_pass(*model, random_batch(step).part(world.rank(), world.size()));
    optimizer.step();
  }
  return count;
}

TEST(BlockClaims, BecomeUnitsAndTheRootTakesTheRest) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = claimed_stack();
    EXPECT_THAT(unit_names(fully_shard(*model, {.group = world})),
                ElementsAre("first", "second", "(root)"));
  });
}

TEST(BlockClaims, MayBeMadeInsideOut) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = std::dynamic_pointer_cast<Stack>(built<Stack>());
    const auto outer = std::make_shared<torch::nn::Module>();
    outer->register_module("inner", model);
    fully_shard(*model->head);
    fully_shard(*model);
    EXPECT_THAT(unit_names(fully_shard(*outer, {.group = world})),
                ElementsAre("inner", "inner.head"));
  });
}

TEST(BlockClaims, AreUsedUpByTheFirstModelThatHasThem) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = claimed_stack();
    static_cast<void>(fully_shard(*model, {.group = world}));
    EXPECT_TRUE(sharding::take_block_claims(sharding::take_inventory(*model)).empty());
  });
}

TEST(BlockClaims, KeepWhatTheirBlockAsksFor) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    // Forward and backward; what is kept is gathered once.
    EXPECT_EQ(times(world, sharding::EventKind::gather_started, "first"), 2);
    EXPECT_EQ(times(world, sharding::EventKind::gather_started, "second"), 1);
  });
}

TEST(BlockClaims, TrainAsOneRank) {
  Trial trial = trial_of<Stack>();
  const auto expected = train_alone(trial);
  trial.build = [] { return claimed_stack(); };
  on_ranks(Way::shared_threads, 3, [&](const comm::Group& world) {
    require_close(train_sharded(trial, {.group = world}), expected, trial.tolerance, "claims");
  });
}

TEST(BlockClaims, ChangeNothingInOtherStages) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = claimed_stack();
    EXPECT_THAT(unit_names(replicate(*model, {.group = world})), ElementsAre("bucket 0"));
  });
}

TEST(BlockClaims, AreRefusedBesideTheFlatPolicy) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = claimed_stack();
    const ShardOptions flat{.group = world, .policy = sharding::Policy::flat};
    EXPECT_THAT(error_of([&] { static_cast<void>(shard(*model, flat)); }),
                HasSubstr("the policy flat is one unit"));
  });
}

}  // namespace
}  // namespace sheaf::testing
