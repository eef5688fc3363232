#include "nn/kernels/join_columns.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

TEST(JoinColumns, PutsMatricesSideBySideAndSumsTheirColumns) {
  const at::Tensor a = at::randn({70, 5}), b = at::randn({70, 3}), c = at::randn({70, 8});
  const at::Tensor whole = at::cat({a, b, c}, 1);
  const at::Tensor sums = at::ones({16});
  EXPECT_TRUE(join_columns({a, b, c}, {sums}).equal(whole));
  expect_near(sums, whole.sum(0), 1e-5);
  EXPECT_TRUE(join_columns({a, b, c}, {sums, /*adds=*/true}).equal(whole));
  expect_near(sums, 2 * whole.sum(0), 1e-5);
}

}  // namespace
}  // namespace sheaf::nn
