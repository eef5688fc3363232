#include "kernels_on_cuda.h"
#include "nn/kernels/column_sums.h"
#include "nn/kernels/pending_sums.h"

namespace sheaf::nn {
namespace {

class ColumnSumKernelsOnCuda : public OnCuda {
 protected:
  /// Returns what a target that held `before` holds afterwards.
  static at::Tensor sums(const at::Tensor& rows, at::ScalarType type, bool adds) {
    at::Tensor target = at::full({rows.size(1)}, 3, rows.options().dtype(type));
    column_sums(rows, {target, adds});
    return target;
  }

  static void expect_same(const at::Tensor& gpu, const at::Tensor& cpu) {
    for (const bool adds : {false, true}) {
      expect_close(sums(gpu, at::kFloat, adds), sums(cpu, at::kFloat, adds), 1e-5);
      const at::ScalarType type = cpu.scalar_type();
      expect_close(sums(gpu, type, adds), sums(cpu, type, adds), tolerance(type) + 1e-5);
    }
  }
};

TEST_F(ColumnSumKernelsOnCuda, AreThoseOfTheCpu) {
  for (const auto type : types()) {
    for (const std::int64_t width : {1, 7, 33, 256, 264, 1280, 5120}) {
      for (const std::int64_t rows : {1, 31, 700}) {
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width));
        const at::Tensor x = at::randn({rows, width}).to(type);
        expect_same(x.to(at::kCUDA), x);
      }
    }
  }
}

TEST_F(ColumnSumKernelsOnCuda, TakeViewsAtAnyAddressAndWithGaps) {
  const at::Tensor x = at::randn({50, 64}).to(at::kBFloat16);
  expect_same(unaligned(x.to(at::kCUDA)), x);
  const at::Tensor wide = at::randn({50, 100}).to(at::kBFloat16);
  expect_same(wide.to(at::kCUDA).narrow(1, 8, 64), wide.narrow(1, 8, 64));
  expect_same(x.to(at::kCUDA).t(), x.t());
}

TEST_F(ColumnSumKernelsOnCuda, AreZeroOfNoRows) {
  expect_same(at::empty({0, 16}, at::kCUDA), at::empty({0, 16}));
}

// More of them than one launch takes, of several types and widths.
TEST_F(ColumnSumKernelsOnCuda, CanBeLeftForLater) {
  PendingSums pending;
  std::vector<at::Tensor> now, later;
  for (const std::int64_t width : {1, 33, 1280, 64}) {
    for (const auto type : types()) {
      const at::Tensor rows = at::randn({500, width}, at::kCUDA).to(type);
      const bool adds = width != 33;
      now.push_back(sums(rows, type, adds));
      later.push_back(at::full({width}, 3, rows.options()));
      column_sums(rows, {later.back(), adds, &pending});
    }
  }
  EXPECT_TRUE(later.back().equal(at::full_like(later.back(), 3)));
  pending.finish();
  for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(later[i].equal(now[i])) << i;
}

TEST_F(ColumnSumKernelsOnCuda, CanBeLeftForLaterWithOneTarget) {
  PendingSums pending;
  const at::Tensor rows = at::ones({500, 64}, at::kCUDA), target = at::zeros({64}, at::kCUDA);
  for (int i = 0; i < 3; ++i) column_sums(rows, {target, /*adds=*/true, &pending});
  pending.finish();
  EXPECT_TRUE(target.equal(at::full_like(target, 1500)));
}

TEST_F(ColumnSumKernelsOnCuda, GiveTheSameBitsEveryTime) {
  const at::Tensor x = at::randn({8000, 1280}, at::kCUDA).to(at::kBFloat16);
  EXPECT_TRUE(sums(x, at::kFloat, false).equal(sums(x, at::kFloat, false)));
}

}  // namespace
}  // namespace sheaf::nn
