// Deferred models get their values when they are sharded, however many ranks there are.
#include <gtest/gtest.h>

#include "sharding/trial_models.h"
#include "sheaf/module/deferred.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

namespace nn = torch::nn;
using sharding::NamedTensors;

/// Large enough that nothing of it but the small constants is there at once.
struct Wide final : TinyModel {
  Wide()
      : up(register_module("up", nn::Linear(kFeatures, 40))),
        norm(register_module("norm", nn::BatchNorm1d(40))),
        frozen(register_parameter("frozen", at::randn({40, 40}), /*requires_grad=*/false)),
        down(register_module("down", nn::Linear(40, kClasses))) {
    nn::init::normal_(down->weight, 0, 0.02);
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = norm(up(inputs.to(at::kFloat)));
    return sum_of_losses(down(at::tanh(x.matmul(frozen))), targets);
  }
  nn::Linear up;
  nn::BatchNorm1d norm;
  at::Tensor frozen;
  nn::Linear down;
};

std::shared_ptr<Wide> deferred_wide() {
  return deferred([] { return std::make_shared<Wide>(); });
}

NamedTensors materialized(std::uint64_t seed) {
  const auto model = deferred_wide();
  materialize(*model, seed);
  return values_of(*model);
}

NamedTensors sharded(ShardOptions options, std::uint64_t seed) {
  options.seed = seed;
  const auto model = deferred_wide();
  return shard(*model, options).gather_full();
}

TEST(DeferredShard, IsDeferredBefore) {
  const auto model = deferred_wide();
  EXPECT_TRUE(module::is_deferred(model->up->weight));
  EXPECT_TRUE(module::is_deferred(model->frozen));
}

TEST(DeferredShard, StartsFromTheValuesOfMaterialize) {
  const NamedTensors expected = materialized(11);
  for (int num_ranks = 1; num_ranks <= 4; ++num_ranks) {
    with_stages(num_ranks, [&](const ShardOptions& options, const std::string& stage) {
      const NamedTensors actual = sharded(options, 11);
      for (const auto& [name, value] : expected) {
        require_equal(actual.at(name), value, stage + ": " + name);
      }
    });
  }
}

TEST(DeferredShard, StartsFromOtherValuesWithAnotherSeed) {
  const NamedTensors other = materialized(11);
  with_stages(2, [&](const ShardOptions& options, const std::string& stage) {
    const NamedTensors actual = sharded(options, 12);
    for (const char* name : {"up.weight", "frozen", "down.weight"}) {
      require(!actual.at(name).equal(other.at(name)), stage + ": " + name);
    }
  });
}

TEST(DeferredShard, LeavesNothingDeferred) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = deferred_wide();
    const sharding::State state = shard(*model, options);
    for (const auto& parameter : model->parameters()) {
      require(!module::is_deferred(parameter), stage);
      require(parameter.key_set() == at::ones({1}).requires_grad_().key_set(), stage + ": keys");
    }
    for (const auto& buffer : model->buffers()) require(!module::is_deferred(buffer), stage);
  });
}

TEST(DeferredShard, TrainsAsTheSameModelThatWasMaterialized) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.seed = 11;
    const auto train = [&](Wide& model) {
      const sharding::State state = shard(model, options);
      optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-2});
      for (int step = 0; step < 2; ++step) {
        one_pass(model, random_batch(step).part(options.group->rank(), 2));
        optimizer.step();
      }
      return state.gather_full();
    };
    const auto expected = deferred_wide();
    materialize(*expected, 11);
    const auto actual = deferred_wide();
    const NamedTensors values = train(*expected);
    for (const auto& [name, value] : train(*actual)) {
      require_equal(value, values.at(name), stage + ": " + name);
    }
  });
}

TEST(DeferredShard, CastsToTheTypeOfComputation) {
  const NamedTensors expected = materialized(11);
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.seed = 11;
    options.precision.compute = at::kBFloat16;
    const auto model = deferred_wide();
    const sharding::State state = shard(*model, options);
    require_equal(state.gather_full().at("up.weight"), expected.at("up.weight"), stage);
    const auto summoned = state.summon(*model);
    const at::Tensor weight = model->up->weight.detach();
    require_equal(weight, expected.at("up.weight").to(at::kBFloat16), stage + ", in the model");
  });
}

}  // namespace
}  // namespace sheaf::testing
