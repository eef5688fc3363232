#include "nn/kernels/put_scaled.h"

#include <ATen/ATen.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

TEST(PutScaled, WritesOrAdds) {
  const at::Tensor values = at::arange(1, 20, at::kFloat), factor = at::scalar_tensor(0.5F);
  const at::Tensor target = at::full({19}, 100.0F);
  put_scaled(values, factor, target);
  EXPECT_TRUE(target.equal(values * 0.5));
  put_scaled(values, factor, target, /*adds=*/true);
  EXPECT_TRUE(target.equal(values));
}

TEST(PutScaled, WorksInPlace) {
  at::Tensor values = at::arange(1, 20, at::kDouble);
  put_scaled(values, at::scalar_tensor(3.0), values);
  EXPECT_TRUE(values.equal(3 * at::arange(1, 20, at::kDouble)));
}

TEST(PutScaled, RoundsOnce) {
  // 1/3 in bf16 is off by more than a bf16 number that is rounded once.
  const at::Tensor values = at::arange(1, 100, at::kFloat).to(at::kBFloat16);
  const at::Tensor factor = at::scalar_tensor(1.0F / 3);
  const at::Tensor target = at::zeros({99}, at::kBFloat16);
  put_scaled(values, factor, target);
  EXPECT_TRUE(target.equal((values.to(at::kFloat) * factor).to(at::kBFloat16)));
  const at::Tensor before = target.clone();
  put_scaled(values, factor, target, /*adds=*/true);
  EXPECT_TRUE(
      target.equal((before.to(at::kFloat) + values.to(at::kFloat) * factor).to(at::kBFloat16)));
}

TEST(PutScaled, TakesAnyStrides) {
  const at::Tensor values = at::arange(12, at::kFloat).view({3, 4}).t();
  const at::Tensor target = at::ones({4, 3});
  put_scaled(values, at::scalar_tensor(2.0F), target);
  EXPECT_TRUE(target.equal(2 * values));
  put_scaled(target, at::scalar_tensor(0.5F), values, /*adds=*/true);
  EXPECT_TRUE(values.equal(target));
}

TEST(PutScaled, TakesNoValues) {
  const at::Tensor none = at::empty({0, 3});
  put_scaled(none, at::scalar_tensor(2.0F), none);
  EXPECT_EQ(none.numel(), 0);
}

}  // namespace
}  // namespace sheaf::nn
