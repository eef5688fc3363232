#include "nn/kernels/fused_product.h"

#include <gtest/gtest.h>

#include <array>

#include "nn/kernels/blas.h"
#include "nn/kernels/fused_product_cpu.h"
#include "nn/kernels/gelu_rows.h"
#include "nn/kernels/result_blocks.h"
#include "nn/kernels/tiles.h"
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

TEST_F(FusedProductTest, TakesABiasOfAnotherType) {
  const at::Tensor bias = at::randn({4});
  expect_near(fused_product({.a = a, .b = b, .bias = bias}), a.mm(b) + bias, 1e-12);
}

TEST_F(FusedProductTest, KeepsWhatGeluIsTakenOf) {
  const at::Tensor inner = at::zeros({5, 4}, at::kDouble), bias = at::randn({4}, at::kDouble);
  const at::Tensor result = fused_product({.a = a, .b = b, .bias = bias, .inner = inner});
  expect_near(inner, a.mm(b) + bias, 1e-12);
  expect_near(result, at::gelu(inner, "tanh"), 1e-12);
}

/// Both ways to multiply fp32 matrices on a CPU; a machine takes the one that is faster there.
using Way = bool (*)(const FusedProduct& product);

class CpuProduct : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    at::manual_seed(2);
    if (GetParam() == product_by_blas && !has_blas()) GTEST_SKIP() << "LibTorch has no BLAS here";
    if (GetParam() == product_by_tiles && !has_tiles()) {
      GTEST_SKIP() << "no tiles for this processor";
    }
  }

  /// Returns the product in memory that had other numbers before.
  static at::Tensor product_of(FusedProduct product) {
    product.result = at::full({product.a.size(0), product.b.size(1)}, 7.0);
    return GetParam()(product) ? product.result : at::Tensor();
  }
  static at::Tensor wide(const at::Tensor& x) { return x.to(at::kDouble); }
};
INSTANTIATE_TEST_SUITE_P(Ways,
                         CpuProduct,
                         ::testing::Values(product_by_blas, product_by_tiles),
                         [](auto& of) { return of.param == product_by_blas ? "blas" : "tiles"; });

TEST_P(CpuProduct, TakesTransposedViews) {
  for (const auto& [m, k, n] : {std::array{1, 1, 1}, {3, 5, 2}, {700, 33, 20}, {20, 7, 4200}}) {
    const at::Tensor a = at::randn({k, m}).t(), b = at::randn({n, k}).t();
    expect_near(product_of({.a = a, .b = b}), wide(a).mm(wide(b)), 1e-6);
    const at::Tensor c = a.contiguous(), d = b.contiguous();
    expect_near(product_of({.a = c, .b = d}), wide(c).mm(wide(d)), 1e-6);
  }
}

TEST_P(CpuProduct, DoesAllThatComesAfterIt) {
  for (const std::int64_t rows : {1, 255, 256, 257, 1000}) {
    const at::Tensor a = at::randn({rows, 33}), b = at::randn({33, 20}), bias = at::randn({20});
    const at::Tensor residual = at::randn({rows, 20}), inner = at::zeros({rows, 20});
    const at::Tensor plain = wide(a).mm(wide(b));
    expect_near(product_of({.a = a, .b = b, .bias = bias}), plain + bias, 1e-6);
    expect_near(product_of({.a = a, .b = b, .residual = residual}), plain + residual, 1e-6);
    expect_near(product_of({.a = a, .b = b, .residual = residual, .bias = bias}),
                plain + bias + residual,
                1e-6);
    expect_near(product_of({.a = a, .b = b, .bias = bias, .inner = inner}),
                at::gelu(plain + bias, "tanh"),
                1e-6);
    expect_near(inner, plain + bias, 1e-6);
  }
}

TEST_P(CpuProduct, AddsToTheColumnsOfALargerMatrix) {
  const at::Tensor a = at::randn({9, 5}), b = at::randn({5, 4100}), whole = at::ones({9, 5000});
  const at::Tensor result = whole.narrow(1, 100, 4100);
  ASSERT_TRUE(GetParam()({.a = a, .b = b, .result = result, .adds = true}));
  expect_near(result, a.mm(b) + 1, 1e-6);
  EXPECT_TRUE(whole.narrow(1, 0, 100).eq(1).all().item<bool>());
  EXPECT_TRUE(whole.narrow(1, 4200, 800).eq(1).all().item<bool>());
}

TEST_P(CpuProduct, LeavesOtherTypesAndLayoutsToOthers) {
  const at::Tensor a = at::randn({4, 4}),
                   spread = at::randn({8, 8}).slice(0, 0, 8, 2).slice(1, 0, 8, 2);
  EXPECT_FALSE(GetParam()({.a = spread, .b = a, .result = at::empty({4, 4})}));
  const at::Tensor other = a.to(at::kDouble);
  EXPECT_FALSE(GetParam()({.a = other, .b = other, .result = at::empty_like(other)}));
}

TEST(ProductByTiles, HasTheSameBitsHoweverItIsCut) {
  if (!has_tiles()) GTEST_SKIP() << "no tiles for this processor";
  at::manual_seed(2);
  for (const auto& [m, k, n] : {std::array{517, 700, 401}, {70, 33, 20}}) {
    const at::Tensor a = at::randn({m, k}), b = at::randn({k, n}), bias = at::randn({n});
    const auto product =
        [&](at::Tensor result, std::int64_t row, std::int64_t column, int threads) {
          const Threads of_this_product(threads);
          ASSERT_TRUE(product_by_tiles({.a = a.narrow(0, row, result.size(0)),
                                        .b = b.narrow(1, column, result.size(1)),
                                        .result = result,
                                        .bias = bias.narrow(0, column, result.size(1))}));
        };
    const at::Tensor whole = at::empty({m, n}), by_threads = at::empty({m, n});
    const at::Tensor part = at::empty({m - 5, n - 3});
    product(whole, 0, 0, 1);
    product(by_threads, 0, 0, 4);
    product(part, 5, 3, 1);
    EXPECT_TRUE(at::equal(by_threads, whole));
    EXPECT_TRUE(at::equal(part, whole.narrow(0, 5, m - 5).narrow(1, 3, n - 3)));
  }
}

TEST(ResultBlocks, CoverAResultOnce) {
  for (const auto& [rows, columns, threads] :
       {std::array{1, 1, 1}, {1024, 384, 2}, {65, 193, 2}, {384, 1152, 16}, {512, 8192, 3}}) {
    const ResultBlocks blocks(rows, columns, threads);
    const at::Tensor times = at::zeros({rows, columns});
    for (std::int64_t i = 0; i < blocks.count(); ++i) {
      const Part height = blocks.rows(i), width = blocks.columns(i);
      times.slice(0, height.begin, height.end).slice(1, width.begin, width.end) += 1;
    }
    EXPECT_TRUE(times.eq(1).all().item<bool>()) << rows << " x " << columns;
  }
}

TEST(ResultBlocks, AreEnoughForTheThreads) {
  EXPECT_EQ(ResultBlocks(1024, 384, 1).count(), 1);
  EXPECT_EQ(ResultBlocks(1024, 384, 2).count(), 8);
  EXPECT_GE(ResultBlocks(1024, 384, 32).count(), 32);
}

TEST(GeluRows, AddUpBlocksOfRows) {
  at::manual_seed(2);
  for (const std::int64_t rows : {1, 64, 65, 4100}) {
    const at::Tensor inner = at::randn({rows, 20}), given = at::randn({rows, 20});
    at::Tensor gradient = given.clone(), sums = at::ones({20});
    expect_near(gelu_rows_back(inner, gradient, {sums, /*adds=*/true}),
                at::gelu(inner.to(at::kDouble), "tanh"),
                1e-6);
    const at::Tensor expected =
        at::gelu_backward(given.to(at::kDouble), inner.to(at::kDouble), "tanh");
    expect_near(gradient, expected, 1e-6);
    expect_near(sums, expected.sum(0) + 1, 2e-6);
  }
}

TEST(GeluRows, GoBackThroughGeluWithSumsOfColumns) {
  at::manual_seed(2);
  const at::Tensor inner = at::randn({5, 4}, at::kDouble), given = at::randn({5, 4}, at::kDouble);
  at::Tensor gradient = given.clone(), sums = at::ones({4}, at::kDouble);
  const at::Tensor again = gelu_rows_back(inner, gradient, {sums, /*adds=*/true});
  expect_near(again, at::gelu(inner, "tanh"), 1e-12);
  expect_near(gradient, at::gelu_backward(given, inner, "tanh"), 1e-12);
  expect_near(sums, gradient.sum(0) + 1, 1e-12);
}

}  // namespace
}  // namespace sheaf::nn
