#include <torch/nn.h>

#include "block_formulas.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/embedding.h"

namespace sheaf::nn {
namespace {

TEST(Blocks, AreTheFormulasInAllTypes) {
  at::manual_seed(5);
  for (const BlockCase& each : block_cases()) {
    SCOPED_TRACE(each.name);
    expect_same_in_all_types(each.own, each.plain, each.inputs);
  }
}

TEST(Blocks, JoinWeightsThatLieOneAfterTheOther) {
  at::manual_seed(5);
  const at::Tensor all = at::randn({24, 16}, at::kDouble) * 0.3;
  const Tensors apart{
      all.narrow(0, 0, 16).clone(), all.narrow(0, 16, 4).clone(), all.narrow(0, 20, 4).clone()};
  const Tensors together{all.narrow(0, 0, 16), all.narrow(0, 16, 4), all.narrow(0, 20, 4)};
  const at::Tensor x = at::randn({2, 3, 16}, at::kDouble), norm = at::randn({16}, at::kDouble);
  const auto run = [&](const Tensors& weights) {
    return mixed(attention_inputs(x,
                                  {norm, {}, 1e-6},
                                  {{weights[0]}, {weights[1]}, {weights[2]}},
                                  {.q_size = 16, .kv_size = 4, .head_size = 4}));
  };
  expect_near(run(together), run(apart), 1e-12);
}

TEST(Blocks, GiveGradientsOfWhatIsUsedOnly) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({2, 3, 8}).requires_grad_();
  const at::Tensor weight = at::randn({8, 24}).requires_grad_();
  const AttentionInputs in =
      attention_inputs(x,
                       {at::ones({8}), at::zeros({8}), 1e-5},
                       {{weight, at::zeros({24})}},
                       {.q_size = 8, .kv_size = 8, .head_size = 4, .layout = WeightLayout::in_out});
  in.v.sum().backward();
  EXPECT_TRUE(weight.grad().narrow(1, 0, 16).equal(at::zeros({8, 16})));
  EXPECT_GT(weight.grad().narrow(1, 16, 8).abs().max().item<float>(), 0);
}

TEST(TextEmbedding, AddsPositionsToTokens) {
  at::manual_seed(5);
  const at::Tensor texts = at::randint(7, {3, 5}, at::kLong);
  const auto own = [&](const Tensors& in) { return text_embedding(in[0], in[1], texts); };
  const auto plain = [&](const Tensors& in) {
    return at::embedding(in[0], texts) + in[1].narrow(0, 0, 5);
  };
  expect_same_in_all_types(own, plain, {at::randn({7, 6}), at::randn({9, 6})});
}

TEST(TextEmbedding, RefusesTextsThatAreTooLong) {
  EXPECT_THROW(
      (void)text_embedding(at::randn({7, 6}), at::randn({4, 6}), at::zeros({3, 5}, at::kLong)),
      UsageError);
}

TEST(Blocks, RefuseNormsThatDoNotFit) {
  const at::Tensor x = at::randn({2, 8}), weight = at::randn({8, 8});
  const NormParameters norm{at::ones({7}), at::zeros({7}), 1e-5};
  EXPECT_THROW((void)gelu_mlp(x, norm, {weight, at::zeros({8})}, {weight, at::zeros({8})}),
               UsageError);
  EXPECT_THROW((void)swiglu_mlp(x, norm, weight, weight, weight), UsageError);
}

TEST(Blocks, RefuseSecondDerivatives) {
  const at::Tensor x = at::randn({2, 8}).requires_grad_(), weight = at::randn({8, 8});
  const at::Tensor y = linear_with_residual(x, {weight}, at::zeros({2, 8}));
  EXPECT_THROW(y.sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true), UsageError);
}

}  // namespace
}  // namespace sheaf::nn
