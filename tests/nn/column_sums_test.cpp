#include "nn/kernels/column_sums.h"

#include <torch/nn.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

TEST(ColumnSums, AreWrittenOrAdded) {
  for (const std::int64_t width : {1, 7, 33, 1280}) {
    const at::Tensor rows = at::randn({5, width}), expected = rows.to(at::kDouble).sum(0);
    at::Tensor target = at::full({width}, 100.0F);
    column_sums(rows, {target, /*adds=*/false});
    expect_near(target, expected, 1e-6);
    column_sums(rows, {target, /*adds=*/true});
    expect_near(target, 2 * expected, 1e-6);
  }
}

TEST(ColumnSums, AreRoundedOnce) {
  const at::Tensor rows = at::full({1000, 3}, 1.0, at::kBFloat16);
  at::Tensor narrow = at::empty({3}, at::kBFloat16), wide = at::empty({3});
  column_sums(rows, {narrow, /*adds=*/false});
  column_sums(rows, {wide, /*adds=*/false});
  EXPECT_TRUE(narrow.equal(at::full({3}, 1000, at::kBFloat16)));
  EXPECT_TRUE(wide.equal(at::full({3}, 1000.0F)));
}

TEST(ColumnSums, OfNoRowsAreZero) {
  at::Tensor target = at::ones({4});
  column_sums(at::empty({0, 4}), {target, /*adds=*/true});
  EXPECT_TRUE(target.equal(at::ones({4})));
  column_sums(at::empty({0, 4}), {target, /*adds=*/false});
  EXPECT_TRUE(target.equal(at::zeros({4})));
}

}  // namespace
}  // namespace sheaf::nn
