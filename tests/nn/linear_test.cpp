#include "sheaf/nn/linear.h"

#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

at::Tensor own(const Tensors& in) { return nn::linear(in[0], in[1], in[2]); }
at::Tensor plain(const Tensors& in) { return at::matmul(in[0], in[1].t()) + in[2]; }

Tensors inputs(std::vector<std::int64_t> x, std::int64_t out) {
  at::manual_seed(1);
  const std::int64_t in = x.back();
  return {at::randn(x), at::randn({out, in}), at::randn({out})};
}

TEST(Linear, IsTheProductInAllTypes) {
  for (const auto& [rows, in, out] : {std::array{7, 5, 3}, {64, 48, 96}, {33, 130, 17}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    expect_same_in_all_types(own, plain, inputs({rows, in}, out));
  }
}

TEST(Linear, TakesAnyNumberOfDims) {
  expect_same_in_all_types(own, plain, inputs({2, 3, 4, 8}, 6));
  expect_same_in_all_types(own, plain, inputs({8}, 6));
}

TEST(Linear, TakesOneRowAndOneColumn) {
  expect_same_in_all_types(own, plain, inputs({1, 9}, 5));
  expect_same_in_all_types(own, plain, inputs({4, 1}, 1));
}

TEST(Linear, TakesWeightsThatLieTheOtherWay) {
  const Formula own_in_out = [](const Tensors& in) {
    return nn::linear(in[0], in[1], in[2], WeightLayout::in_out);
  };
  const Formula plain_in_out = [](const Tensors& in) { return at::matmul(in[0], in[1]) + in[2]; };
  for (const std::int64_t out : {5, 24, 96}) {
    expect_same_in_all_types(
        own_in_out, plain_in_out, {at::randn({3, 7, 24}), at::randn({24, out}), at::randn({out})});
  }
}

TEST(Linear, TakesViewsOfOtherTensors) {
  const auto viewed = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      return formula({in[0].narrow(-1, 3, 8).transpose(0, 1), in[1].narrow(-1, 2, 8), in[2]});
    };
  };
  expect_same_in_all_types(
      viewed(own), viewed(plain), {at::randn({4, 5, 20}), at::randn({6, 11}), at::randn({6})});
}

TEST(Linear, GivesAGradientThatIsAnExpandedNumber) {
  const Formula own_sum = [](const Tensors& in) { return own(in).sum(); };
  const Formula plain_sum = [](const Tensors& in) { return plain(in).sum(); };
  expect_same_in_all_types(own_sum, plain_sum, inputs({6, 5}, 4));
}

TEST(Linear, DoesWithoutABias) {
  const Formula own_free = [](const Tensors& in) { return nn::linear(in[0], in[1], {}); };
  const Formula plain_free = [](const Tensors& in) { return at::matmul(in[0], in[1].t()); };
  expect_same_in_all_types(own_free, plain_free, {at::randn({6, 5}), at::randn({4, 5})});
}

TEST(Linear, GivesZeroGradientsForNoRows) {
  for (const auto layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    const Formula formula = [=](const Tensors& in) {
      return nn::linear(in[0], in[1], in[2], layout);
    };
    const Outcome result =
        outcome(formula, {at::randn({0, 3, 8}), at::randn({8, 8}), at::randn({8})});
    EXPECT_EQ(result.value.sizes(), (std::vector<std::int64_t>{0, 3, 8}));
    EXPECT_TRUE(result.gradients[1].equal(at::zeros({8, 8})));
    EXPECT_TRUE(result.gradients[2].equal(at::zeros({8})));
  }
}

TEST(Linear, GivesGradientsOnlyToWhatWantsThem) {
  const Tensors in = inputs({6, 5}, 4);
  for (int wanting = 0; wanting < 3; ++wanting) {
    Tensors leaves;
    for (const at::Tensor& each : in) leaves.push_back(each.clone());
    leaves[wanting].requires_grad_();
    own(leaves).sum().backward();
    const Outcome all = outcome([](const Tensors& t) { return plain(t).sum(); }, in);
    // The one weight of a single number is cos(-1).
    expect_near(leaves[wanting].grad() * std::cos(-1.0), all.gradients[wanting], 1e-5);
  }
}

TEST(Linear, RecordsNothingWithoutGradMode) {
  const at::NoGradGuard no_grad;
  Tensors in = inputs({6, 5}, 4);
  in[1].requires_grad_();
  EXPECT_FALSE(own(in).requires_grad());
}

TEST(Linear, SeesWhatAWeightHoldsAtTheTimeOfBackward) {
  // A sharded weight has no memory between forward and backward, and other memory afterwards.
  const at::Tensor x = at::randn({6, 5}).requires_grad_();
  const at::Tensor weight = at::randn({4, 5}).requires_grad_();
  const at::Tensor y = nn::linear(x, weight, {});
  at::Tensor moved = weight.detach().clone();
  const at::Tensor expected = at::ones({6, 4}).mm(weight.detach());
  auto* const storage = weight.storage().unsafeGetStorageImpl();
  storage->set_data_ptr(c10::DataPtr(nullptr, at::kCPU));
  storage->set_data_ptr(
      moved.storage().unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(nullptr, at::kCPU)));
  y.sum().backward();
  expect_near(x.grad(), expected, 1e-6);
}

TEST(Linear, HasASecondDerivative) {
  const auto second = [](const Formula& formula) {
    Tensors in = inputs({6, 5}, 4);
    for (at::Tensor& each : in) each.requires_grad_();
    const at::Tensor y = formula(in).pow(3).sum();
    const auto first = torch::autograd::grad({y}, {in[0]}, {}, true, /*create_graph=*/true);
    first[0].pow(2).sum().backward();
    return in[1].grad();
  };
  expect_near(second(own), second(plain), 1e-5);
}

TEST(Linear, RefusesShapesThatDoNotFit) {
  EXPECT_THROW((void)nn::linear(at::randn({3, 4}), at::randn({2, 5}), {}), UsageError);
  EXPECT_THROW((void)nn::linear(at::randn({3, 4}), at::randn({2, 4}), {}, WeightLayout::in_out),
               UsageError);
}

}  // namespace
}  // namespace sheaf::nn
