#include "nn/kernels/fused_product.h"

#include <gtest/gtest.h>

#include "nn/kernels/gelu_rows.h"
#include "outcome.h"

namespace sheaf::nn {
namespace {

class FusedProductTest : public ::testing::Test {
 protected:
  void SetUp() override { at::manual_seed(2); }

  at::Tensor a = at::randn({5, 7}, at::kDouble);
  at::Tensor b = at::randn({7, 4}, at::kDouble);
};

TEST_F(FusedProductTest, AddsBiasAndResidual) {
  const at::Tensor bias = at::randn({4}, at::kDouble), residual = at::randn({5, 4}, at::kDouble);
  expect_near(fused_product({.a = a, .b = b, .residual = residual, .bias = bias}),
              a.mm(b) + bias + residual,
              1e-12);
}

TEST_F(FusedProductTest, AddsToItsResult) {
  const at::Tensor result = at::ones({5, 4}, at::kDouble);
  fused_product({.a = a, .b = b, .result = result, .adds = true});
  expect_near(result, a.mm(b) + 1, 1e-12);
}

TEST_F(FusedProductTest, WritesAWideResultOfNarrowFactors) {
  const at::Tensor narrow_a = a.to(at::kBFloat16), narrow_b = b.to(at::kBFloat16);
  const at::Tensor result = at::zeros({5, 4});
  fused_product({.a = narrow_a, .b = narrow_b, .result = result, .adds = true});
  expect_near(result, narrow_a.to(at::kFloat).mm(narrow_b.to(at::kFloat)), 1e-6);
}

TEST_F(FusedProductTest, KeepsWhatGeluIsTakenOf) {
  const at::Tensor inner = at::zeros({5, 4}, at::kDouble), bias = at::randn({4}, at::kDouble);
  const at::Tensor result = fused_product({.a = a, .b = b, .bias = bias, .inner = inner});
  expect_near(inner, a.mm(b) + bias, 1e-12);
  expect_near(result, at::gelu(inner, "tanh"), 1e-12);
}

TEST(GeluRows, GoBackThroughGeluWithSumsOfColumns) {
  at::manual_seed(2);
  const at::Tensor inner = at::randn({5, 4}, at::kDouble), given = at::randn({5, 4}, at::kDouble);
  at::Tensor gradient = given.clone(), sums = at::ones({4}, at::kDouble);
  const at::Tensor again = gelu_rows_back(inner, gradient, sums, /*adds=*/true);
  expect_near(again, at::gelu(inner, "tanh"), 1e-12);
  expect_near(gradient, at::gelu_backward(given, inner, "tanh"), 1e-12);
  expect_near(sums, gradient.sum(0) + 1, 1e-12);
}

}  // namespace
}  // namespace sheaf::nn
