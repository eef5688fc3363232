#include "kernels_on_cuda.h"
#include "nn/kernels/put_scaled.h"

namespace sheaf::nn {
namespace {

class PutScaledKernelsOnCuda : public OnCuda {
 protected:
  static at::Tensor put(const at::Tensor& values, at::Tensor target, bool adds) {
    put_scaled(values, at::full({}, 0.7, values.options().dtype(at::kFloat)), target, adds);
    return target;
  }
};

TEST_F(PutScaledKernelsOnCuda, AreThoseOfTheCpu) {
  for (const auto from : types()) {
    for (const auto to : types()) {
      for (const std::int64_t size : {1, 7, 8, 9, 4099, 3'000'017}) {
        const at::Tensor values = at::randn({size}).to(from), target = at::randn({size}).to(to);
        for (const bool adds : {false, true}) {
          SCOPED_TRACE(std::string(c10::toString(from)) + " to " + c10::toString(to) + ", " +
                       std::to_string(size));
          const at::Tensor expected = put(values, target.clone(), adds);
          expect_close(put(on_gpu(values), on_gpu(target), adds), expected, tolerance(to));
        }
      }
    }
  }
}

TEST_F(PutScaledKernelsOnCuda, TakeAnyAddressAndWorkInPlace) {
  const at::Tensor values = at::randn({1000}).to(at::kBFloat16);
  const at::Tensor expected = put(values, values.clone(), false);
  const at::Tensor odd = unaligned(on_gpu(values));
  expect_close(put(odd, odd, false), expected, tolerance(at::kBFloat16));
  const at::Tensor even = on_gpu(values);
  expect_close(put(even, even, false), expected, tolerance(at::kBFloat16));
}

TEST_F(PutScaledKernelsOnCuda, TakeNoValues) {
  const at::Tensor none = at::empty({0}, at::kCUDA);
  EXPECT_EQ(put(none, none, true).numel(), 0);
}

}  // namespace
}  // namespace sheaf::nn
