#include "sheaf/nn/norm.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

constexpr double kEpsilon = 1e-5;

at::Tensor own(const Tensors& in) { return rms_norm(in[0], in[1], kEpsilon); }

at::Tensor plain(const Tensors& in) {
  return in[0] / (in[0].pow(2).mean(-1, true) + kEpsilon).sqrt() * in[1];
}

TEST(RmsNorm, IsTheFormulaInAllTypes) {
  expect_same_in_all_types(own, plain, {at::randn({5, 33}), at::randn({33})});
  expect_same_in_all_types(own, plain, {at::randn({2, 3, 64}) * 10, at::randn({64})});
  expect_same_in_all_types(own, plain, {at::randn({1, 3}), at::randn({3})});
}

TEST(RmsNorm, TakesViewsOfOtherTensors) {
  const auto viewed = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      return formula({in[0].transpose(0, 1).narrow(-1, 1, 7), in[1]});
    };
  };
  expect_same_in_all_types(viewed(own), viewed(plain), {at::randn({4, 5, 9}), at::randn({7})});
}

TEST(RmsNorm, TakesRowsOfZeros) {
  const Outcome result = outcome(own, {at::zeros({2, 8}), at::ones({8})});
  EXPECT_TRUE(result.value.equal(at::zeros({2, 8})));
  EXPECT_TRUE(result.gradients[0].isfinite().all().item<bool>());
}

TEST(RmsNorm, GivesZeroGradientsForNoRows) {
  const Outcome result = outcome(own, {at::randn({0, 8}), at::randn({8})});
  EXPECT_TRUE(result.gradients[1].equal(at::zeros({8})));
}

TEST(RmsNorm, RefusesAWeightOfAnotherLength) {
  EXPECT_THROW((void)rms_norm(at::randn({3, 8}), at::randn({7}), kEpsilon), UsageError);
}

TEST(RmsNorm, HasASecondDerivative) {
  const auto penalty = [](const std::function<at::Tensor(const at::Tensor&)>& norm) {
    at::manual_seed(5);
    const at::Tensor x = at::randn({3, 6}, at::kDouble).requires_grad_();
    const at::Tensor y = norm(x).pow(3).sum();
    const at::Tensor first =
        torch::autograd::grad({y}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
    return torch::autograd::grad({first.square().sum()}, {x})[0];
  };
  const at::Tensor weight = at::linspace(0.5, 2, 6, at::kDouble);
  const at::Tensor ours = penalty([&](const at::Tensor& x) { return rms_norm(x, weight, 1e-5); });
  const at::Tensor plain = penalty(
      [&](const at::Tensor& x) { return x * (x.square().mean(-1, true) + 1e-5).rsqrt() * weight; });
  EXPECT_TRUE(at::allclose(ours, plain, 1e-9, 1e-9));
}

TEST(LayerNorm, IsTheFormulaInAllTypes) {
  const auto norm = [](const Tensors& in) { return layer_norm(in[0], in[1], in[2], kEpsilon); };
  const auto formula = [](const Tensors& in) {
    const at::Tensor centred = in[0] - in[0].mean(-1, true);
    return centred / (centred.pow(2).mean(-1, true) + kEpsilon).sqrt() * in[1] + in[2];
  };
  expect_same_in_all_types(norm, formula, {at::randn({5, 33}), at::randn({33}), at::randn({33})});
  expect_same_in_all_types(
      norm, formula, {at::randn({2, 3, 64}), at::randn({64}), at::randn({64})});
}

TEST(LayerNorm, RefusesAWeightOrABiasOfAnotherLength) {
  const at::Tensor x = at::randn({3, 8}), fits = at::randn({8}), other = at::randn({7});
  EXPECT_THROW((void)layer_norm(x, other, fits, kEpsilon), UsageError);
  EXPECT_THROW((void)layer_norm(x, fits, other, kEpsilon), UsageError);
}

}  // namespace
}  // namespace sheaf::nn
