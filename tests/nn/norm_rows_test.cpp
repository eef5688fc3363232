// The norms of rows that the CPU computes, which kernels for GPUs are compared with.
#include "nn/kernels/norm_rows.h"

#include <torch/nn.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

constexpr double kEpsilon = 1e-5;

struct Case {
  std::int64_t rows;
  std::int64_t width;
  NormKind kind;
};

std::string name_of(const Case& of) {
  return (of.kind == NormKind::layer ? "layer_" : "rms_") + std::to_string(of.rows) + "x" +
         std::to_string(of.width);
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const NormKind kind : {NormKind::layer, NormKind::root_mean_square}) {
    for (const std::int64_t width : {1, 7, 33, 1280, 2048, 5000}) {
      result.push_back({3, width, kind});
    }
    result.push_back({1, 33, kind});
  }
  return result;
}

class NormRows : public ::testing::TestWithParam<Case> {
 protected:
  NormRows() {
    at::manual_seed(2);
    const auto [rows, width, kind] = GetParam();
    x = at::randn({rows, width}, at::kDouble) * 2 + 0.5;
    weight = at::randn({width}, at::kDouble);
    if (kind == NormKind::layer) bias = at::randn({width}, at::kDouble);
    of_result = at::randn({rows, width}, at::kDouble);
  }

  /// By LibTorch's own layers.
  static at::Tensor plain(const Tensors& in) {
    if (in.size() == 3) return at::layer_norm(in[0], in[1].sizes(), in[1], in[2], kEpsilon);
    return at::rms_norm(in[0], in[1].sizes(), in[1], kEpsilon);
  }

  /// In absolute terms: what is 0 by the formula is not quite so in either way to compute it.
  static void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
    EXPECT_TRUE(at::allclose(actual, expected, 1e-10, 1e-10));
  }

  at::Tensor x, weight, bias, of_result;
  NormOptions options{GetParam().kind, kEpsilon};
};

INSTANTIATE_TEST_SUITE_P(Shapes, NormRows, ::testing::ValuesIn(cases()), [](const auto& of) {
  return name_of(of.param);
});

TEST_P(NormRows, HaveTheValuesAndGradientsOfTheLayer) {
  Tensors leaves{x.clone().requires_grad_(), weight.clone().requires_grad_()};
  if (bias.defined()) leaves.push_back(bias.clone().requires_grad_());
  const at::Tensor expected = plain(leaves);
  expected.backward(of_result);
  NormStatistics statistics;
  expect_same(norm_rows(x, weight, bias, options, statistics), expected.detach());
  const NormGradients gradients =
      norm_rows_gradients({of_result, x, weight, statistics}, bias.defined());
  expect_same(gradients.x, leaves[0].grad());
  expect_same(gradients.weight, leaves[1].grad());
  ASSERT_EQ(gradients.bias.defined(), bias.defined());
  if (bias.defined()) expect_same(gradients.bias, leaves[2].grad());
}

TEST_P(NormRows, ComeOutTheSameAgain) {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    NormStatistics statistics;
    const at::Tensor b = bias.defined() ? bias.to(type) : bias;
    const at::Tensor first = norm_rows(x.to(type), weight.to(type), b, options, statistics);
    NormBackward back{of_result.to(type), x.to(type), weight.to(type), statistics};
    back.again = at::empty_like(first);
    back.bias = b;
    (void)norm_rows_gradients(back, b.defined());
    EXPECT_TRUE(back.again.equal(first));
    EXPECT_EQ(first.scalar_type(), type);
  }
}

TEST_P(NormRows, AddTheResidualBeforeTheyRound) {
  const at::Tensor residual = at::randn_like(x);
  const auto of_x = [&](at::ScalarType type, const at::Tensor& added) {
    NormStatistics statistics;
    const at::Tensor b = bias.defined() ? bias.to(type) : bias;
    (void)norm_rows(x.to(type), weight.to(type), b, options, statistics);
    return norm_rows_gradients({of_result.to(type), x.to(type), weight.to(type), statistics, added},
                               false)
        .x;
  };
  const at::Tensor expected = of_x(at::kDouble, {}) + residual;
  expect_near(of_x(at::kDouble, residual), expected, 1e-14);
  expect_near(of_x(at::kFloat, residual.to(at::kFloat)), expected, 1e-5);
}

/// In fp32 kernels of their own compute them, over blocks of rows.
TEST(NormRowsInBlocks, HaveTheSumsOfAllRows) {
  at::manual_seed(2);
  for (const std::int64_t rows : {63, 64, 65, 200, 4100}) {
    const at::Tensor x = at::randn({rows, 33}), weight = at::randn({33}), bias = at::randn({33});
    const at::Tensor of_result = at::randn({rows, 33});
    const auto gradients = [&](at::ScalarType type) {
      NormStatistics statistics;
      (void)norm_rows(x.to(type), weight.to(type), bias.to(type), {}, statistics);
      return norm_rows_gradients({of_result.to(type), x.to(type), weight.to(type), statistics},
                                 true);
    };
    const NormGradients expected = gradients(at::kDouble), actual = gradients(at::kFloat);
    expect_near(actual.x, expected.x, 2e-6);
    expect_near(actual.weight, expected.weight, 2e-6);
    expect_near(actual.bias, expected.bias, 2e-6);
  }
}

TEST(NormRowsInBlocks, GiveTheSameBitsOnTwoThreads) {
  const at::Tensor x = at::randn({300, 33}), weight = at::randn({33});
  const auto on = [&](int count) {
    const Threads threads(count);
    NormStatistics statistics;
    const at::Tensor result = norm_rows(x, weight, weight, {}, statistics);
    return norm_rows_gradients({result, x, weight, statistics, x}, true);
  };
  const NormGradients one = on(1), two = on(2);
  EXPECT_TRUE(one.x.equal(two.x));
  EXPECT_TRUE(one.weight.equal(two.weight));
  EXPECT_TRUE(one.bias.equal(two.bias));
}

TEST(NormRowsBack, AddToWhatIsThere) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({70, 24}), weight = at::randn({24}),
                   of_result = at::randn({70, 24});
  NormStatistics statistics;
  (void)norm_rows(x, weight, weight, {}, statistics);
  const NormBackward in{of_result, x, weight, statistics};
  const NormGradients expected = norm_rows_gradients(in, true);
  const at::Tensor of_weight = at::ones({24}), of_bias = at::ones({24}, at::kDouble);
  const at::Tensor of_x = norm_rows_back(in, {of_weight, /*adds=*/true}, {of_bias});
  EXPECT_TRUE(of_x.equal(expected.x));
  expect_near(of_weight, expected.weight + 1, 1e-6);
  EXPECT_TRUE(of_bias.equal(expected.bias.to(at::kDouble)));
}

TEST(NormRowsBack, FillAgainWithWhatTheNormReturned) {
  at::manual_seed(5);
  for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const bool with_bias : {false, true}) {
      const at::Tensor x = at::randn({150, 33}).to(type), weight = at::randn({33}).to(type);
      const at::Tensor bias = with_bias ? at::randn({33}).to(type) : at::Tensor();
      NormStatistics statistics;
      const at::Tensor expected = norm_rows(x, weight, bias, {}, statistics);
      const NormBackward plain{x, x, weight, statistics};
      NormBackward filling = plain;
      filling.again = at::empty_like(x);
      filling.bias = bias;
      const NormGradients gradients = norm_rows_gradients(filling, with_bias);
      EXPECT_TRUE(filling.again.equal(expected)) << c10::toString(type);
      EXPECT_TRUE(gradients.x.equal(norm_rows_gradients(plain, with_bias).x));
    }
  }
}

TEST(NormRowsOfNothing, HaveZeroGradients) {
  NormStatistics statistics;
  const at::Tensor x = at::randn({0, 8}), weight = at::randn({8});
  EXPECT_EQ(norm_rows(x, weight, weight, {}, statistics).size(0), 0);
  const NormGradients gradients = norm_rows_gradients({x, x, weight, statistics}, true);
  EXPECT_TRUE(gradients.weight.equal(at::zeros({8})));
  EXPECT_TRUE(gradients.bias.equal(at::zeros({8})));
}

}  // namespace
}  // namespace sheaf::nn
