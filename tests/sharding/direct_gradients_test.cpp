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
#include "sheaf/memory/cpu_usage.h"
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

/// What is left of a step when the gradients of `take_passes` are in the model.
template <class TakePasses>
std::vector<at::Tensor> step_after(Stage stage, const TakePasses& take_passes) {
  Tied model;
  const auto state = shard(model, {.group = comm::init(), .stage = stage});
  optim::Sgd optimizer(state.slots(), {.learning_rate = 0.1});
  take_passes(model, state);
  optimizer.step();
  std::vector<at::Tensor> values;
  for (const auto& [name, value] : state.gather_full()) values.push_back(value);
  return values;
}

TEST_P(DirectGradients, StayWhenOthersAreClearedBeforeBackward) {
  const auto values = step_after(GetParam(), [](Tied& model, sharding::State state) {
    model.forward(tokens(), targets()).backward();
    const at::Tensor loss = model.forward(tokens(), targets());
    state.zero_gradients();
    loss.backward();
  });
  expect_close(values, step_alone());
}

TEST_P(DirectGradients, AddUpWhenForwardsComeFirst) {
  for (const bool turned : {false, true}) {
    const auto values = step_after(GetParam(), [&](Tied& model, const sharding::State&) {
      at::Tensor first = model.forward(tokens(), targets());
      at::Tensor second = model.forward(tokens(), targets());
      if (turned) std::swap(first, second);
      first.backward();
      second.backward();
    });
    expect_close(values, step_alone(2));
  }
}

TEST_P(DirectGradients, AddUpWhenAGraphIsUsedTwice) {
  const auto values = step_after(GetParam(), [](Tied& model, const sharding::State&) {
    const at::Tensor loss = model.forward(tokens(), targets());
    loss.backward({}, /*retain_graph=*/true);
    loss.backward();
  });
  expect_close(values, step_alone(2));
}

TEST_P(DirectGradients, AreNotThoseOfAForwardThatWasDropped) {
  const auto values = step_after(GetParam(), [](Tied& model, const sharding::State&) {
    static_cast<void>(model.forward(tokens(), targets()));
    model.forward(tokens(), targets()).backward();
  });
  expect_close(values, step_alone());
}

TEST_P(DirectGradients, ComeFromALossThatIsScaled) {
  const auto values = step_after(GetParam(), [](Tied& model, const sharding::State&) {
    (model.forward(tokens(), targets()) * 0.25).backward();
    (model.forward(tokens(), targets()) * 0.75).backward();
  });
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

/// A head alone, whose gradient is much larger than all the rest.
struct Head : torch::nn::Module {
  Head() { table = register_parameter("table", at::randn({4096, 64})); }
  at::Tensor forward(const at::Tensor& x) {
    return nn::linear_cross_entropy(x, table, at::arange(8), {.chunk_rows = 1});
  }
  at::Tensor table;
};

TEST(DirectGradientMemory, IsUsedByTheLossItself) {
  memory::count_cpu_tensors();
  Head head;
  const auto state = shard(head, {.group = comm::init(), .stage = Stage::ddp});
  const at::Tensor x = at::randn({8, 64});
  const std::int64_t before = memory::cpu_usage().current.count;
  memory::reset_cpu_peak();
  head.forward(x).backward();
  EXPECT_LT(memory::cpu_usage().peak.count - before,
            static_cast<std::int64_t>(head.table.nbytes()) / 4);
}

TEST(DirectGradientMemory, GetsTheGradientOfALossRoundedOnce) {
  Head head;
  const at::Tensor x = at::randn({8, 64}, at::kBFloat16), start = head.table.detach().clone();
  const at::Tensor alone = start.to(at::kBFloat16).requires_grad_();
  const auto loss = [&](const at::Tensor& table) {
    return nn::linear_cross_entropy(x, table, at::arange(8), {.chunk_rows = 1}) / 3;
  };
  loss(alone).backward();
  const auto state = shard(head,
                           {.group = comm::init(),
                            .stage = Stage::ddp,
                            .precision = {.compute = at::kBFloat16, .reduce = at::kBFloat16}});
  optim::Sgd optimizer(state.slots(), {.learning_rate = 1});
  loss(head.table).backward();
  optimizer.step();
  EXPECT_TRUE(state.gather_full().at("table").equal(start - alone.grad()));
}

TEST(DirectGradientMemory, IsNotThereWithoutAnEngine) {
  Tied model;
  WritesSevens::apply(model.bias).sum().backward();
  EXPECT_TRUE(model.bias.grad().equal(at::ones({8})));
}

}  // namespace
}  // namespace sheaf
