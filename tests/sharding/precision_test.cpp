// Computing in bf16 over fp32 masters is, to the last bit, what a loop by hand does. So are sums in
// fp16, which train nearly as those in fp32 do.
#include <gtest/gtest.h>

#include "sharding/trial_models.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/plain_slots.h"
#include "sheaf/optim/sgd.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

constexpr int kRanks = 2;  // sums of two have one order only
constexpr int kSteps = 3;
const optim::AdamWOptions kOptimizer{.learning_rate = 1e-2, .weight_decay = 0.1};

using Gradients = std::vector<at::Tensor>;

/// Returns the gradients of a pass in bf16, as the model gets them.
Gradients gradients_of(TinyModel& model, const Batch& batch) {
  mean_loss(model, {batch.inputs.to(at::kBFloat16), batch.targets}).backward();
  Gradients gradients;
  for (at::Tensor& parameter : model.parameters()) {
    gradients.push_back(parameter.grad());
    parameter.mutable_grad().reset();
  }
  return gradients;
}

using Sum = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

Gradients add(const Gradients& a, const Gradients& b, const Sum& sum) {
  Gradients result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(sum(a[i], b[i]));
  return result;
}

at::Tensor sum_in_single(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kFloat) + b.to(at::kFloat);
}

/// Trains by hand: `step_gradients` gives the fp32 gradients of a step.
sharding::NamedTensors by_hand(const std::shared_ptr<TinyModel>& start,
                               const std::function<Gradients(TinyModel&, int)>& step_gradients) {
  std::vector<std::pair<std::string, at::Tensor>> masters;
  for (const auto& item : start->named_parameters()) {
    masters.emplace_back(item.key(), item.value().detach().to(at::kFloat, false, /*copy=*/true));
  }
  start->to(at::kBFloat16);
  optim::AdamW optimizer(optim::plain_slots(masters), kOptimizer);
  for (int step = 0; step < kSteps; ++step) {
    const Gradients gradients = step_gradients(*start, step);
    for (std::size_t i = 0; i < masters.size(); ++i) {
      masters[i].second.mutable_grad() = gradients[i];
    }
    optimizer.step();
    const at::NoGradGuard no_grad;
    for (const auto& [name, master] : masters) start->named_parameters()[name].copy_(master);
  }
  return {masters.begin(), masters.end()};
}

Gradients both_halves(TinyModel& model, const Batch& batch, const Sum& sum) {
  return add(gradients_of(model, batch.part(0, 2)), gradients_of(model, batch.part(1, 2)), sum);
}

void require_same_bits(const sharding::NamedTensors& actual,
                       const sharding::NamedTensors& expected,
                       const std::string& what) {
  for (const auto& [name, value] : expected) {
    require_equal(actual.at(name), value, what + ": " + name);
  }
}

void expect_bits(const sharding::NamedTensors& expected,
                 const std::function<std::shared_ptr<TinyModel>()>& build,
                 const sharding::PrecisionOptions& precision) {
  with_stages(kRanks, [&](ShardOptions options, const std::string& stage) {
    options.precision = precision;
    const auto model = build();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots(), kOptimizer);
    for (int step = 0; step < kSteps; ++step) {
      one_pass(*model, random_batch(step).part(options.group->rank(), kRanks));
      optimizer.step();
    }
    require_same_bits(state.gather_full(), expected, stage);
  });
}

std::shared_ptr<TinyModel> single_stack() { return built<Stack>(/*as_is=*/true); }

std::shared_ptr<TinyModel> brain_stack() {
  auto model = single_stack();
  model->to(at::kBFloat16);
  return model;
}

TEST(Precision, ComputesInBrainFloatOverSingleMasters) {
  const auto expected = by_hand(single_stack(), [](TinyModel& model, int step) {
    return both_halves(model, random_batch(step), sum_in_single);
  });
  expect_bits(expected, single_stack, {.compute = at::kBFloat16});
}

TEST(Precision, SendsGradientsInTheTypeAskedFor) {
  const auto expected = by_hand(single_stack(), [](TinyModel& model, int step) {
    return both_halves(model, random_batch(step), [](const at::Tensor& a, const at::Tensor& b) {
      return (a + b).to(at::kFloat);  // both in bf16
    });
  });
  expect_bits(expected, single_stack, {.compute = at::kBFloat16, .reduce = at::kBFloat16});
}

TEST(Precision, SendsGradientsInHalfOverSingleMasters) {
  const auto expected = by_hand(single_stack(), [](TinyModel& model, int step) {
    return both_halves(model, random_batch(step), [](const at::Tensor& a, const at::Tensor& b) {
      return (a.to(at::kHalf) + b.to(at::kHalf)).to(at::kFloat);
    });
  });
  expect_bits(expected, single_stack, {.compute = at::kBFloat16, .reduce = at::kHalf});
}

/// Trains in fp32 by SGD, whose steps are as far off as the gradients are.
sharding::NamedTensors descend(ShardOptions options, at::ScalarType reduce) {
  options.precision.reduce = reduce;
  const auto model = single_stack();
  const sharding::State state = shard(*model, options);
  optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1});
  for (int step = 0; step < 20; ++step) {
    Batch own = random_batch(step).part(options.group->rank(), kRanks);
    own.inputs = own.inputs.to(at::kFloat);
    one_pass(*model, own);
    optimizer.step();
  }
  return state.gather_full();
}

// Of how far a parameter moves. A gradient is rounded to 11 bits three times, both its parts and
// their sum, each time by 2^-11 of it at most. With bf16 it would be eight times as much.
constexpr double kHalfTolerance = 3.0 / 2048;

TEST(Precision, TrainsWithGradientsInHalfAsCloselyAsTheyAreRounded) {
  const auto start = values_of(*single_stack());
  with_stages(kRanks, [&](const ShardOptions& options, const std::string& stage) {
    const auto single = descend(options, at::kFloat);
    for (const auto& [name, value] : descend(options, at::kHalf)) {
      const double moved = (single.at(name) - start.at(name)).abs().max().item<double>();
      const double off = (value - single.at(name)).abs().max().item<double>();
      require(off > 0, stage + ": as in fp32, " + name);
      require(off <= kHalfTolerance * moved,
              stage + ": " + name + " is off by " + std::to_string(off / moved));
    }
  });
}

TEST(Precision, GivesMastersToModelsInBrainFloat) {
  const auto expected = by_hand(brain_stack(), [](TinyModel& model, int step) {
    return both_halves(model, random_batch(step), sum_in_single);
  });
  with_stages(kRanks, [&](const ShardOptions& options, const std::string& stage) {
    const auto model = brain_stack();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots(), kOptimizer);
    for (int step = 0; step < kSteps; ++step) {
      Batch batch = random_batch(step).part(options.group->rank(), kRanks);
      batch.inputs = batch.inputs.to(at::kBFloat16);
      one_pass(*model, batch);
      optimizer.step();
    }
    require_same_bits(state.gather_full(), expected, stage);
  });
}

TEST(Precision, SumsPassesInSingle) {
  const auto expected = by_hand(single_stack(), [](TinyModel& model, int step) {
    const Batch batch = random_batch(step);
    return add(both_halves(model, batch.part(0, kRanks), sum_in_single),
               both_halves(model, batch.part(1, kRanks), sum_in_single),
               sum_in_single);
  });
  with_stages(kRanks, [&](ShardOptions options, const std::string& stage) {
    options.precision.compute = at::kBFloat16;
    const auto model = single_stack();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots(), kOptimizer);
    for (int step = 0; step < kSteps; ++step) {
      const Batch own = random_batch(step).part(options.group->rank(), kRanks);
      {
        const auto local = state.no_sync();
        one_pass(*model, own.part(0, 2));
      }
      one_pass(*model, own.part(1, 2));
      optimizer.step();
    }
    require_same_bits(state.gather_full(), expected, stage);
  });
}

/// Notes what it is given.
struct Curious final : TinyModel {
  Curious() : weight(register_parameter("weight", at::ones({kFeatures, kClasses}))) {
    register_buffer("table", at::ones({3}));
    register_buffer("count", at::ones({3}, at::kLong));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    seen = {inputs.scalar_type(), targets.scalar_type(), weight.scalar_type()};
    return sum_of_losses(inputs.matmul(weight), targets);
  }
  at::Tensor weight;
  std::vector<at::ScalarType> seen;
};

TEST(Precision, CastsFloatingInputsOfTheModel) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.precision.compute = at::kBFloat16;
    const auto model = built<Curious>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    one_pass(*model, random_batch(0));
    const std::vector<at::ScalarType> expected{at::kBFloat16, at::kLong, at::kBFloat16};
    require(dynamic_cast<Curious&>(*model).seen == expected, stage);
  });
}

TEST(Precision, GivesFloatingBuffersTheTypeAskedFor) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.precision.buffers = at::kBFloat16;
    const auto model = built<Curious>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    const auto buffers = model->named_buffers();
    require(buffers["table"].scalar_type() == at::kBFloat16, stage);
    require(buffers["count"].scalar_type() == at::kLong, stage);
  });
}

TEST(Precision, LeavesBuffersAsTheyAreOtherwise) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.precision.compute = at::kBFloat16;
    const auto model = built<Curious>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    require(model->named_buffers()["table"].scalar_type() == at::kFloat, stage);
  });
}

TEST(Precision, KeepsWhatAStepChangesBelowTheResolutionOfBrainFloat) {
  with_stages(2, [](ShardOptions options, const std::string& stage) {
    options.precision.compute = at::kBFloat16;
    const auto model = built<Curious>(/*as_is=*/true);
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-4, .weight_decay = 0});
    one_pass(*model, random_batch(0));
    optimizer.step();
    const at::Tensor moved = (state.gather_full().at("weight") - 1).abs();
    require(moved.max().item<double>() < 2e-4 && moved.min().item<double>() > 5e-5, stage);
  });
}

}  // namespace
}  // namespace sheaf::testing
