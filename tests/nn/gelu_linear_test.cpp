#include <torch/nn.h>

#include "outcome.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/linear.h"

namespace sheaf::nn {
namespace {

Formula own(WeightLayout layout) {
  return [=](const Tensors& in) { return gelu_linear(in[0], in[1], in[2], layout); };
}

Formula plain(WeightLayout layout) {
  return [=](const Tensors& in) {
    const at::Tensor weight = layout == WeightLayout::in_out ? in[1] : in[1].t();
    return at::matmul(at::gelu(in[0], "tanh"), weight) + in[2];
  };
}

TEST(GeluLinear, IsTheFormulaInAllTypes) {
  for (const auto layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    expect_same_in_all_types(
        own(layout), plain(layout), {at::randn({3, 5, 24}), at::randn({24, 24}), at::randn({24})});
  }
  expect_same_in_all_types(own(WeightLayout::in_out),
                           plain(WeightLayout::in_out),
                           {at::randn({1, 7}), at::randn({7, 40}), at::randn({40})});
}

TEST(GeluLinear, TakesViewsOfOtherTensors) {
  const auto viewed = [](const Formula& formula) -> Formula {
    return [=](const Tensors& in) {
      return formula({in[0].transpose(0, 1).narrow(-1, 1, 6), in[1], in[2]});
    };
  };
  expect_same_in_all_types(viewed(own(WeightLayout::out_in)),
                           viewed(plain(WeightLayout::out_in)),
                           {at::randn({4, 3, 9}), at::randn({5, 6}), at::randn({5})});
}

TEST(GeluLinear, DoesWithoutABias) {
  const at::Tensor x = at::randn({4, 6}), weight = at::randn({5, 6});
  expect_near(gelu_linear(x, weight, {}), at::gelu(x, "tanh").mm(weight.t()), 1e-6);
}

TEST(GeluLinear, GivesZeroGradientsForNoRows) {
  const Outcome result =
      outcome(own(WeightLayout::out_in), {at::randn({0, 8}), at::randn({8, 8}), at::randn({8})});
  EXPECT_TRUE(result.gradients[1].equal(at::zeros({8, 8})));
}

TEST(GeluLinear, GivesGradientsOnlyToWhatWantsThem) {
  const at::Tensor x = at::randn({4, 6}), weight = at::randn({5, 6}).requires_grad_();
  gelu_linear(x, weight, at::randn({5})).sum().backward();
  expect_near(weight.grad(), at::ones({5, 4}).mm(at::gelu(x, "tanh")), 1e-6);
}

TEST(GeluLinear, RefusesShapesThatDoNotFit) {
  EXPECT_THROW((void)gelu_linear(at::randn({3, 4}), at::randn({2, 5}), at::randn({2})), UsageError);
}

}  // namespace
}  // namespace sheaf::nn
