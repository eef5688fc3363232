// A pass that fails on all ranks leaves nothing behind: the next one counts alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "sharding/trial_models.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;

/// Where a pass fails.
enum class Place { nowhere, forward, backward };

/// Fails in its middle, when asked to.
struct Fragile final : TinyModel {
  Fragile()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(register_module("second", Layer(kFeatures, kFeatures))),
        third(register_module("third", Layer(kFeatures, kFeatures))),
        fourth(register_module("fourth", Layer(kFeatures, kFeatures))),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = sheaf::forward(*second, sheaf::forward(*first, inputs));
    if (fails_in == Place::forward) throw std::runtime_error("lost");
    if (fails_in == Place::backward) {
      x.register_hook([](const at::Tensor&) { throw std::runtime_error("lost"); });
    }
    x = sheaf::forward(*fourth, sheaf::forward(*third, x));
    return sum_of_losses(sheaf::forward(*head, x), targets);
  }
  Layer first, second, third, fourth, head;
  Place fails_in = Place::nowhere;
};

void fail(TinyModel& model, const Batch& batch, Place place) {
  auto& fragile = dynamic_cast<Fragile&>(model);
  fragile.fails_in = place;
  EXPECT_THROW(one_pass(model, batch), std::runtime_error);
  fragile.fails_in = Place::nowhere;
}

void expect_recovery(Place place) {
  Trial trial = trial_of<Fragile>();
  const auto expected = train_alone(trial);
  trial.pass = [place](TinyModel& model, const Batch& batch) {
    fail(model, batch, place);
    one_pass(model, batch);
  };
  for (const int num_ranks : {2, 3}) {
    with_stages(num_ranks, [&](const ShardOptions& options, const std::string& stage) {
      require_close(train_sharded(trial, options), expected, trial.tolerance, stage);
    });
  }
}

TEST(Failure, InForwardLeavesTheNextPassAlone) { expect_recovery(Place::forward); }

TEST(Failure, InBackwardLeavesTheNextPassAlone) { expect_recovery(Place::backward); }

TEST(Failure, InABlockItselfLeavesTheNextPassAlone) {
  Trial trial = trial_of<Fragile>();
  const auto expected = train_alone(trial);
  trial.pass = [](TinyModel& model, const Batch& batch) {
    // Too few numbers per sample: the first layer's product fails inside its boundary.
    const Batch narrow{batch.inputs.narrow(1, 0, 2), batch.targets};
    EXPECT_ANY_THROW(one_pass(model, narrow));
    one_pass(model, batch);
  };
  with_stages(2, [&](const ShardOptions& options, const std::string& stage) {
    require_close(train_sharded(trial, options), expected, trial.tolerance, stage);
  });
}

TEST(Failure, LosesTheGradientsOfTheStep) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Fragile>();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots());
    one_pass(*model, random_batch(0));
    fail(*model, random_batch(0), Place::backward);
    EXPECT_NE(error_of([&] { optimizer.step(); }), "") << stage;
  });
}

TEST(Failure, LeavesAForeignOptimizerUsable) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Fragile>();
    const auto alone = built<Fragile>();
    const sharding::State state = shard(*model, options);
    torch::optim::SGD optimizer(state.parameters(), 0.1);
    torch::optim::SGD expected(alone->parameters(), 0.1);
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      expected.zero_grad();
      const Batch batch = random_batch(step);
      fail(*model, batch.part(options.group->rank(), 2), Place::backward);
      one_pass(*model, batch.part(options.group->rank(), 2));
      one_pass(*alone, batch);
      optimizer.step();
      expected.step();
    }
    require_close(state.gather_full(), values_of(*alone), 1e-9, stage);
  });
}

TEST(Failure, OfALayerThatNobodyGathersNamesItsUnit) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = built<Fragile>();
    auto& fragile = dynamic_cast<Fragile&>(*model);
    const sharding::State state = shard(*model, {.group = world, .wake = sharding::Wake::boundary});
    // Boundaries have proved enough after these, so nobody watches operators any more.
    for (int step = 0; step < 3; ++step) one_pass(*model, random_batch(step));
    const auto use = [&] { static_cast<void>(fragile.third->weight.sum()); };
    EXPECT_THAT(use, ::testing::ThrowsMessage<c10::Error>(HasSubstr("unit \"third\"")));
    const auto summoned = state.summon(*fragile.third);
    EXPECT_NO_THROW(use());
  });
}

TEST(Failure, OfAStepWithAPassThatWasNotExchangedNamesItsUnit) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Fragile>();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots());
    one_pass(*model, random_batch(0));
    {
      const auto local = state.no_sync();
      one_pass(*model, random_batch(1));
    }
    EXPECT_THAT(error_of([&] { optimizer.step(); }), HasSubstr("have not been exchanged")) << stage;
    state.zero_gradients();
    one_pass(*model, random_batch(2));
    EXPECT_NO_THROW(optimizer.step()) << stage;
  });
}

}  // namespace
}  // namespace sheaf::testing
