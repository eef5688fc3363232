// Layers that write gradients where the engine keeps them: the same numbers as without, and nobody
// who wants to see a gradient misses it.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>

#include <optional>
#include <string>
#include <vector>

#include "sheaf/comm/init.h"
#include "sheaf/module/gradient_sink.h"
#include "sheaf/nn/embedding.h"
#include "sheaf/nn/linear.h"
#include "sheaf/nn/linear_cross_entropy.h"
#include "sheaf/optim/sgd.h"
#include "sheaf/sharding/shard.h"

namespace sheaf {
namespace {

/// An embedding that is also the head, and two layers between that share a weight.
struct Tied : torch::nn::Module {
  Tied() {
    at::manual_seed(3);
    table = register_parameter("table", at::randn({11, 8}));
    weight = register_parameter("weight", at::randn({8, 8}));
    bias = register_parameter("bias", at::randn({8}));
  }

  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& targets) {
    at::Tensor x = nn::linear(nn::embedding(table, tokens), weight, bias);
    x = nn::gelu_linear(x, weight, bias, nn::WeightLayout::out_in);
    return nn::linear_cross_entropy(x, table, targets);
  }

  at::Tensor table;
  at::Tensor weight;
  at::Tensor bias;
};

at::Tensor tokens() { return at::arange(20).remainder(7); }
at::Tensor targets() { return at::arange(20).remainder(11); }

void expect_close(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-5, 1e-6)) << "parameter " << i;
  }
}

/// Takes `passes` backward passes and one step of plain gradient descent.
template <class Prepare>
std::vector<at::Tensor> step_sharded(Stage stage, int passes, Prepare prepare) {
  Tied model;
  prepare(model);
  const auto state = shard(model, {.group = comm::init(), .stage = stage});
  optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1});
  for (int i = 0; i < passes; ++i) {
    std::optional<sharding::NoSyncScope> local;
    if (i + 1 < passes) local.emplace(state.no_sync());
    model.forward(tokens(), targets()).backward();
  }
  optimizer.step();
  std::vector<at::Tensor> values;
  for (const auto& [name, value] : state.gather_full()) values.push_back(value);
  return values;
}

std::vector<at::Tensor> step_sharded(Stage stage, int passes = 1) {
  return step_sharded(stage, passes, [](Tied&) {});
}

/// The same without an engine; in the order of names.
std::vector<at::Tensor> step_alone(int passes = 1, double table_factor = 1) {
  Tied model;
  for (int i = 0; i < passes; ++i) model.forward(tokens(), targets()).backward();
  const at::NoGradGuard no_grad;
  model.table.sub_(model.table.grad() * (0.1 * table_factor));
  model.weight.sub_(model.weight.grad() * 0.1);
  model.bias.sub_(model.bias.grad() * 0.1);
  return {model.bias.detach(), model.table.detach(), model.weight.detach()};
}

class DirectGradients : public ::testing::TestWithParam<Stage> {};

TEST_P(DirectGradients, AreThoseOfLibTorch) {
  expect_close(step_sharded(GetParam()), step_alone());
}

TEST_P(DirectGradients, AddUpOverPasses) {
  expect_close(step_sharded(GetParam(), 3), step_alone(3));
}

TEST_P(DirectGradients, AddUpWhenExchangedPassesAndOthersAlternate) {
  Tied model;
  const auto state = shard(model, {.group = comm::init(), .stage = GetParam()});
  optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1});
  for (const bool local : {false, true, false}) {
    std::optional<sharding::NoSyncScope> scope;
    if (local) scope.emplace(state.no_sync());
    model.forward(tokens(), targets()).backward();
  }
  optimizer.step();
  std::vector<at::Tensor> values;
  for (const auto& [name, value] : state.gather_full()) values.push_back(value);
  expect_close(values, step_alone(3));
}

TEST_P(DirectGradients, HooksOfTheUserSeeAndChangeThem) {
  int seen = 0;
  const auto values = step_sharded(GetParam(), 1, [&](Tied& model) {
    model.table.register_hook([&](const at::Tensor& gradient) {
      ++seen;
      return gradient * 2;
    });
  });
  EXPECT_EQ(seen, 1);
  expect_close(values, step_alone(1, /*table_factor=*/2));
}

TEST_P(DirectGradients, ChosenGradientsAreReturnedAndTouchNothing) {
  Tied model;
  const auto state = shard(model, {.group = comm::init(), .stage = GetParam()});
  optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1});
  const auto chosen = torch::autograd::grad({model.forward(tokens(), targets())}, {model.table});
  Tied alone;
  alone.forward(tokens(), targets()).backward();
  EXPECT_TRUE(at::allclose(chosen[0], alone.table.grad(), 1e-5, 1e-6));
  model.forward(tokens(), targets()).backward();
  optimizer.step();
  std::vector<at::Tensor> values;
  for (const auto& [name, value] : state.gather_full()) values.push_back(value);
  expect_close(values, step_alone());
}

INSTANTIATE_TEST_SUITE_P(Stages,
                         DirectGradients,
                         ::testing::Values(Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3),
                         [](const auto& given) {
                           return std::to_string(static_cast<int>(given.param));
                         });

/// A layer that gives its parameter a gradient of sevens, if it may write it.
struct WritesSevens : torch::autograd::Function<WritesSevens> {
  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, const at::Tensor& x) {
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/,
                                                 const torch::autograd::variable_list& gradients) {
    const module::GradientTarget target = module::open_gradient(0, at::kFloat);
    if (!target) return {gradients[0]};
    at::Tensor memory = target.memory;
    memory.fill_(7);
    return {at::Tensor()};
  }
};

TEST(DirectGradientMemory, IsThatOfTheEngine) {
  Tied model;
  const auto state =
      shard(model, {.group = comm::init(), .stage = Stage::ddp, .find_unused = true});
  WritesSevens::apply(model.bias).sum().backward();
  EXPECT_TRUE(model.bias.grad().equal(at::full({8}, 7.0)));
}

TEST(DirectGradientMemory, IsNotThereWithoutAnEngine) {
  Tied model;
  WritesSevens::apply(model.bias).sum().backward();
  EXPECT_TRUE(model.bias.grad().equal(at::ones({8})));
}

}  // namespace
}  // namespace sheaf
