// Optimizers of LibTorch over state.parameters() step as they do alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim.h>

#include "sharding/training.h"
#include "sharding/trial_models.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;
using Optimizer = std::unique_ptr<torch::optim::Optimizer>;
using Parameters = std::vector<at::Tensor>;

struct Foreign {
  std::function<Optimizer(Parameters)> make;
  bool set_to_none = true;
  int passes = 1;
  /// Whether all passes but the last are in no_sync().
  bool local = false;
};

template <class Kind, class Options>
std::function<Optimizer(Parameters)> maker(const Options& options) {
  return [options](Parameters parameters) {
    return std::make_unique<Kind>(std::move(parameters), options);
  };
}

const auto kSgd = maker<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9));
const auto kAdamW = maker<torch::optim::AdamW>(torch::optim::AdamWOptions(1e-2));

void train(const Foreign& foreign,
           torch::optim::Optimizer& optimizer,
           TinyModel& model,
           const std::function<Batch(int)>& own_batch,
           const sharding::State* state) {
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad(foreign.set_to_none);
    for (int pass = 0; pass < foreign.passes; ++pass) {
      std::optional<sharding::NoSyncScope> local;
      if (state != nullptr && foreign.local && pass + 1 < foreign.passes) {
        local.emplace(state->no_sync());
      }
      one_pass(model, own_batch(step).part(pass, foreign.passes));
    }
    optimizer.step();
  }
}

template <class Model = Stack>
sharding::NamedTensors alone(const Foreign& foreign) {
  const auto model = built<Model>();
  const Optimizer optimizer = foreign.make(distinct_parameters(*model));
  train(
      foreign, *optimizer, *model, [](int step) { return random_batch(step); }, nullptr);
  return values_of(*model);
}

template <class Model = Stack>
void expect_as_alone(const Foreign& foreign, int num_ranks) {
  const auto expected = alone<Model>(foreign);
  with_stages(num_ranks, [&](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Model>();
    const sharding::State state = shard(*model, options);
    const Optimizer optimizer = foreign.make(state.parameters());
    const auto own = [&](int step) {
      return random_batch(step).part(options.group->rank(), options.group->size());
    };
    train(foreign, *optimizer, *model, own, &state);
    require_close(state.gather_full(), expected, 1e-9, stage);
  });
}

TEST(ForeignOptimizer, SgdWithMomentumStepsAsAlone) {
  expect_as_alone({.make = kSgd}, 2);
  expect_as_alone({.make = kSgd}, 3);
}

TEST(ForeignOptimizer, AdamStepsAsAlone) {
  expect_as_alone({.make = maker<torch::optim::Adam>(torch::optim::AdamOptions(1e-2))}, 3);
}

TEST(ForeignOptimizer, AdamWStepsAsAlone) {
  expect_as_alone({.make = kAdamW}, 2);
  expect_as_alone({.make = kAdamW}, 3);
}

TEST(ForeignOptimizer, RmspropStepsAsAlone) {
  expect_as_alone({.make = maker<torch::optim::RMSprop>(torch::optim::RMSpropOptions(1e-2))}, 3);
}

TEST(ForeignOptimizer, MayZeroGradientsInPlace) {
  expect_as_alone({.make = kAdamW, .set_to_none = false}, 2);
  expect_as_alone({.make = kSgd, .set_to_none = false}, 3);
}

TEST(ForeignOptimizer, StepsSumsOfExchangedPasses) {
  expect_as_alone({.make = kAdamW, .passes = 2}, 2);
  expect_as_alone({.make = kAdamW, .set_to_none = false, .passes = 2}, 3);
}

TEST(ForeignOptimizer, StepsSumsOfLocalPasses) {
  expect_as_alone({.make = kAdamW, .passes = 2, .local = true}, 2);
  expect_as_alone({.make = kAdamW, .set_to_none = false, .passes = 2, .local = true}, 3);
}

TEST(ForeignOptimizer, StepsAfterAnEvaluationAsWell) {
  const auto expected = alone({.make = kSgd});
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.max_gathered = 8;  // room for all units that the evaluation gathers
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    const Optimizer optimizer = kSgd(state.parameters());
    for (int step = 0; step < 4; ++step) {
      optimizer->zero_grad();
      one_pass(*model, random_batch(step).part(options.group->rank(), 2));
      {
        const at::NoGradGuard no_grad;
        static_cast<void>(mean_loss(*model, random_batch(9)));
      }
      optimizer->step();
    }
    require_close(state.gather_full(), expected, 1e-9, stage);
  });
}

TEST(ForeignOptimizer, IsFollowedByEvaluation) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const auto whole = built<Stack>();
    const sharding::State state = shard(*model, options);
    const Optimizer optimizer = kSgd(state.parameters());
    for (int step = 0; step < 3; ++step) {
      one_pass(*model, random_batch(step));
      optimizer->step();
      const at::NoGradGuard no_grad;
      const auto values = state.gather_full();
      for (auto& item : whole->named_parameters()) item.value().copy_(values.at(item.key()));
      const at::Tensor loss = mean_loss(*model, random_batch(9));
      require_equal(loss, mean_loss(*whole, random_batch(9)), stage);
    }
  });
}

using Step = std::function<void(const TinyModel&, torch::optim::Optimizer&, const std::string&)>;

/// Trains models that are called as they are, without a boundary; `step` follows each pass.
void expect_as_alone_when_called_plainly(const Step& step) {
  const auto expected = alone({.make = kSgd});
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    if (options.wake == sharding::Wake::boundary) return;
    options.max_gathered = 8;  // room for all units that are read
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    const Optimizer optimizer = kSgd(state.parameters());
    for (int number = 0; number < 4; ++number) {
      optimizer->zero_grad();
      const Batch own = random_batch(number).part(options.group->rank(), 2);
      (model->loss(own.inputs, own.targets) / static_cast<double>(kSamples)).backward();
      step(*model, *optimizer, stage);
    }
    require_close(state.gather_full(), expected, 1e-9, stage);
  });
}

TEST(ForeignOptimizer, IsFollowedByModelsThatAreCalledPlainly) {
  expect_as_alone_when_called_plainly([](const TinyModel&,
                                         torch::optim::Optimizer& optimizer,
                                         const std::string&) { optimizer.step(); });
}

double norm_of(const torch::nn::Module& model) {
  const at::NoGradGuard no_grad;
  double sum = 0;
  for (const at::Tensor& parameter : model.parameters()) sum += parameter.norm().item<double>();
  return sum;
}

/// Reads parameters where a boundary would not tell that they are used: before the step and after.
TEST(ForeignOptimizer, IsFollowedByModelsThatAreCalledPlainlyAndReadInBetween) {
  expect_as_alone_when_called_plainly(
      [](const TinyModel& model, torch::optim::Optimizer& optimizer, const std::string& stage) {
        const double before = norm_of(model);
        optimizer.step();
        require(norm_of(model) != before, stage + ": old values after a step");
      });
}

struct Tiny final : TinyModel {
  Tiny() : scale(register_parameter("scale", at::full({}, 0.5))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return sum_of_losses(inputs.narrow(1, 0, kClasses) * scale, targets);
  }
  at::Tensor scale;
};

TEST(ForeignOptimizer, StepsEmptyParts) {
  expect_as_alone<Tiny>({.make = kAdamW}, 3);
  expect_as_alone<Tiny>({.make = kSgd, .set_to_none = false, .passes = 2}, 3);
}

/// One of its parameters is computed with as it is stepped, the other is not.
struct TwoTypes final : TinyModel {
  TwoTypes()
      : first(register_parameter("first", at::randn({kFeatures, 5}, at::kDouble))),
        second(register_parameter("second", at::randn({5, kClasses}))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return sum_of_losses(inputs.to(at::kFloat).matmul(first).matmul(second), targets);
  }
  at::Tensor first, second;
};

TEST(ForeignOptimizer, IsFollowedByParametersOfEveryType) {
  const auto before = values_of(*built<TwoTypes>(/*as_is=*/true));
  with_stages(2, [&](ShardOptions options, const std::string& stage) {
    options.precision.compute = at::kFloat;
    options.policy = sharding::Policy::flat;
    const auto model = built<TwoTypes>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    const Optimizer optimizer = kSgd(state.parameters());
    one_pass(*model, random_batch(0));
    optimizer->step();
    const auto whole = state.gather_full();
    const auto summoned = state.summon(*model);
    for (const auto& item : model->named_parameters()) {
      require_equal(item.value().detach(), whole.at(item.key()).to(at::kFloat), stage);
      require(!whole.at(item.key()).equal(before.at(item.key())), stage + ": no step");
    }
  });
}

TEST(ForeignOptimizer, IsRefusedWhenItWasBuiltBefore) {
  with_stages(2, [](const ShardOptions& options, const std::string&) {
    if (options.stage == Stage::ddp) return;
    const auto model = built<Stack>();
    const Optimizer optimizer = kSgd(model->parameters());
    EXPECT_THAT(error_of([&] { static_cast<void>(shard(*model, options)); }),
                HasSubstr("probably an optimizer built before"));
  });
}

TEST(ForeignOptimizer, IsRefusedWhenItWasBuiltBeforeOverBrainFloat) {
  // ddp steps masters here, so the model's own parameters are not what an optimizer must hold.
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = built<Stack>();
    model->to(at::kBFloat16);
    const Optimizer optimizer = kSgd(model->parameters());
    EXPECT_THAT(error_of([&] { static_cast<void>(replicate(*model, {.group = world})); }),
                HasSubstr("probably an optimizer built before"));
  });
}

/// Has a parameter that it registers and reaches by its name only.
struct Unnamed final : TinyModel {
  Unnamed() : first(register_parameter("first", at::randn({kFeatures, 5}))) {
    register_parameter("second", at::randn({5, kClasses}));
    register_parameter("third", at::randn({kClasses}));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor x = inputs.matmul(first).matmul(named_parameters()["second"]);
    return sum_of_losses(x + named_parameters()["third"], targets);
  }
  at::Tensor first;
};

TEST(ForeignOptimizer, PassesWhereParametersHaveNoMembers) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = built<Unnamed>();
    EXPECT_NO_THROW(static_cast<void>(shard(*model, {.group = world})));
  });
}

struct OneUnnamed final : TinyModel {
  OneUnnamed() : stack(register_module("stack", std::make_shared<Stack>())) {
    register_parameter("scale", at::ones({}));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return stack->loss(inputs * named_parameters()["scale"], targets);
  }
  std::shared_ptr<Stack> stack;
};

TEST(ForeignOptimizer, IsRefusedWhereAParameterHasNoMember) {
  on_ranks(Way::shared_threads, 2, [](const comm::Group& world) {
    const auto model = built<OneUnnamed>();
    const Optimizer optimizer = kSgd(model->parameters());
    EXPECT_THAT(error_of([&] { static_cast<void>(shard(*model, {.group = world})); }),
                HasSubstr("held are 6 of 7"));
  });
}

TEST(ForeignOptimizer, PassesWhenOutsideHandlesAreAllowed) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.allow_outside_handles = true;
    const auto model = built<Stack>();
    const Parameters held = model->parameters();
    const sharding::State state = shard(*model, options);
    require(!state.slices().empty(), stage);
  });
}

TEST(ForeignOptimizer, WorksWithDdpWhenItWasBuiltBefore) {
  const Foreign foreign{.make = kAdamW};
  const auto expected = alone(foreign);
  on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
    const auto model = built<Stack>();
    const Optimizer optimizer = foreign.make(model->parameters());
    const sharding::State state = replicate(*model, {.group = world});
    const auto own = [&](int step) { return random_batch(step).part(world.rank(), 2); };
    train(foreign, *optimizer, *model, own, &state);
    require_close(values_of(*model), expected, 1e-9, "ddp");
  });
}

TEST(ForeignOptimizer, SeesTheSummedGradientWithDdp) {
  const auto expected = built<Stack>();
  one_pass(*expected, random_batch(0));
  on_ranks(Way::shared_threads, 3, [&](const comm::Group& world) {
    const auto model = built<Stack>();
    const sharding::State state = replicate(*model, {.group = world});
    one_pass(*model, random_batch(0).part(world.rank(), 3));
    const Parameters actual = model->parameters();
    for (std::size_t i = 0; i < actual.size(); ++i) {
      require(actual[i].grad().allclose(expected->parameters()[i].grad(), 1e-12, 1e-12), "grad");
    }
  });
}

TEST(ForeignOptimizer, SeesClippedGradients) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    one_pass(*model, random_batch(0).part(options.group->rank(), 2));
    static_cast<void>(state.clip_gradients(1e-3));
    const at::Tensor sum = at::zeros({1}, at::kDouble);
    for (const at::Tensor& handle : state.parameters()) {
      if (handle.grad().defined()) sum.add_(handle.grad().square().sum());
    }
    if (options.stage != Stage::ddp) options.group->all_reduce(sum).wait();
    require(std::abs(sum.sqrt().item<double>() - 1e-3) < 1e-6, stage);
  });
}

}  // namespace
}  // namespace sheaf::testing
