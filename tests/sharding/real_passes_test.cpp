// Passes that are not one forward and one backward, in every stage as alone.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sharding/trial_models.h"
#include "sheaf/module/touch.h"
#include "sheaf/optim/adamw.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Batch half(const Batch& batch, std::int64_t index) { return batch.part(index, 2); }

TEST(RealPasses, EvaluateBetweenSteps) {
  Trial trial = trial_of<Stack>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    one_pass(model, batch);
    const at::NoGradGuard no_grad;
    static_cast<void>(mean_loss(model, batch));
    static_cast<void>(mean_loss(model, batch));
  };
  expect_same_as_alone(trial, 2);
  expect_same_as_alone(trial, 3);
}

TEST(RealPasses, EvaluateBeforeAStep) {
  Trial trial = trial_of<Stack>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    {
      const at::NoGradGuard no_grad;
      static_cast<void>(mean_loss(model, batch));
    }
    one_pass(model, batch);
  };
  expect_same_as_alone(trial, 2);
}

TEST(RealPasses, EvaluateBetweenForwardAndBackward) {
  Trial trial = trial_of<Stack>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    const at::Tensor loss = mean_loss(model, batch);
    {
      const at::NoGradGuard no_grad;
      static_cast<void>(mean_loss(model, batch));
    }
    loss.backward();
  };
  expect_same_as_alone(trial, 2);
}

/// Takes the weights of two layers at once, as a kernel without operators would.
void take_both(const at::Tensor& first, const at::Tensor& second) {
  module::touch({first, second});
  require(first.storage().data() != nullptr, "the first of two weights is gone");
  require(second.storage().data() != nullptr, "the second of two weights is not there");
}

struct ReadsTwoLayersFirst final : Stack {
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    take_both(second->weight, head->weight);
    return Stack::loss(inputs, targets);
  }
};

/// Once the first pass has shown that backward begins with the head, that is still there then.
struct ReadsTwoLayersLast final : Stack {
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor loss = Stack::loss(inputs, targets);
    if (++passes > 1) take_both(head->weight, second->weight);
    return loss;
  }
  int passes = 0;
};

void expect_same_with_two_at_once(const Trial& trial) {
  for (const int limit : {1, 2}) {
    for (const auto wake : {sharding::Wake::touch, sharding::Wake::automatic}) {
      on_ranks(Way::shared_threads, 2, [&](const comm::Group& world) {
        const auto actual =
            train_sharded(trial, {.group = world, .wake = wake, .max_gathered = limit});
        require_close(actual, train_alone(trial), trial.tolerance, "two units at once");
      });
    }
  }
}

TEST(RealPasses, TouchTwoUnitsAtOnceBeforeTheirBoundaries) {
  expect_same_with_two_at_once(trial_of<ReadsTwoLayersFirst>());
}

TEST(RealPasses, TouchTwoUnitsAtOnceOfWhichOneIsThere) {
  expect_same_with_two_at_once(trial_of<ReadsTwoLayersLast>());
}

TEST(RealPasses, OnlyEvaluate) {
  const auto alone = built<Stack>();
  const double expected = mean_loss(*alone, random_batch(0)).item<double>();
  with_stages(3, [&](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const sharding::State state = shard(*model, options);
    const at::NoGradGuard no_grad;
    for (int i = 0; i < 5; ++i) {
      const double loss = mean_loss(*model, random_batch(0)).item<double>();
      require(std::abs(loss - expected) < 1e-12, stage);
    }
  });
}

TEST(RealPasses, EvaluateWithTheStepsOwnValues) {
  with_stages(2, [](const ShardOptions& options, const std::string& stage) {
    const auto model = built<Stack>();
    const auto alone = built<Stack>();
    const sharding::State state = shard(*model, options);
    optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-2});
    torch::optim::AdamW expected(alone->parameters(), torch::optim::AdamWOptions(1e-2));
    for (int step = 0; step < 4; ++step) {
      one_pass(*model, random_batch(step).part(options.group->rank(), 2));
      expected.zero_grad();
      one_pass(*alone, random_batch(step));
      optimizer.step();
      expected.step();
      const at::NoGradGuard no_grad;
      const at::Tensor gap =
          mean_loss(*model, random_batch(9)) - mean_loss(*alone, random_batch(9));
      require(std::abs(gap.item<double>()) < 1e-9, stage + ", step " + std::to_string(step));
    }
  });
}

TEST(RealPasses, TwoForwardsBeforeOneBackward) {
  Trial trial = trial_of<Stack>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    const at::Tensor first = mean_loss(model, half(batch, 0));
    const at::Tensor second = mean_loss(model, half(batch, 1));
    (first + second).backward();
  };
  expect_same_as_alone(trial, 2);
  expect_same_as_alone(trial, 3);
}

TEST(RealPasses, TwoForwardsThenTwoBackwards) {
  Trial trial = trial_of<Stack>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    const at::Tensor first = mean_loss(model, half(batch, 0));
    const at::Tensor second = mean_loss(model, half(batch, 1));
    first.backward();
    second.backward();
  };
  expect_same_as_alone(trial, 2);
  expect_same_as_alone(trial, 3);
}

TEST(RealPasses, TwoLossesOfOneForward) {
  Trial trial = trial_of<Stack>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    const at::Tensor loss = mean_loss(model, batch);
    (loss * 2).backward({}, /*retain_graph=*/true);
    (loss * 3).backward();
  };
  expect_same_as_alone(trial, 2);
  expect_same_as_alone(trial, 3);
}

// Runs a block again in backward, in a backward of its own.
struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, LayerImpl* block) {
    context->save_for_backward({input});
    context->saved_data["block"] = reinterpret_cast<std::int64_t>(block);
    return sheaf::forward(*block, input);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::AutoGradMode record(true);
    auto* block = reinterpret_cast<LayerImpl*>(context->saved_data["block"].toInt());
    const auto input = context->get_saved_variables().at(0).detach().requires_grad_();
    torch::autograd::backward({sheaf::forward(*block, input)}, {gradients.at(0)});
    return {input.grad(), {}};
  }
};

template <bool kTied, bool kLast>
struct Recomputed final : TinyModel {
  Recomputed()
      : first(register_module("first", Layer(kFeatures, kFeatures))),
        second(
            register_module("second", kTied ? Layer(first->weight) : Layer(kFeatures, kFeatures))),
        head(register_module("head", Layer(kFeatures, kClasses))) {}
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = inputs.detach().requires_grad_();
    x = Recompute::apply(x, first.get());
    x = Recompute::apply(x, second.get());
    x = kLast ? Recompute::apply(x, head.get()) : sheaf::forward(*head, x);
    return sum_of_losses(x, targets);
  }
  Layer first, second, head;
};

TEST(RealPasses, RecomputeBlocks) {
  expect_same_as_alone(trial_of<Recomputed<false, false>>(), 2);
  expect_same_as_alone(trial_of<Recomputed<false, true>>(), 3);
}

TEST(RealPasses, RecomputeBlocksWithATiedWeight) {
  expect_same_as_alone(trial_of<Recomputed<true, false>>(), 2);
  expect_same_as_alone(trial_of<Recomputed<true, true>>(), 3);
}

TEST(RealPasses, RecomputeSeveralPassesIntoOneStep) {
  Trial trial = trial_of<Recomputed<true, true>>();
  trial.pass = [](TinyModel& model, const Batch& batch) {
    one_pass(model, half(batch, 0));
    one_pass(model, half(batch, 1));
  };
  expect_same_as_alone(trial, 2);
}

}  // namespace
}  // namespace sheaf::testing
