#include "comm/reduce_kernel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

at::Tensor reduced(const std::vector<at::Tensor>& inputs, Reduce how) {
  at::Tensor output = at::empty_like(inputs[0]);
  std::vector<const std::byte*> pointers;
  for (const auto& input : inputs)
    pointers.push_back(static_cast<const std::byte*>(input.const_data_ptr()));
  auto* result = static_cast<std::byte*>(output.mutable_data_ptr());
  reduce({&result, 1}, pointers, output.numel(), output.scalar_type(), how);
  return output;
}

TEST(ReduceKernel, AddsInTheOrderOfTheInputs) {
  // (1e8 + 1) - 1e8 is 0 in fp32, (1e8 - 1e8) + 1 is 1: the order shows.
  const at::Tensor big = at::full({3}, 1e8);
  const at::Tensor one = at::ones({3});
  EXPECT_TRUE(reduced({big, one, -big}, {}).equal(at::zeros({3})));
  EXPECT_TRUE(reduced({big, -big, one}, {}).equal(at::ones({3})));
}

TEST(ReduceKernel, RoundsHalfTypesOnlyOnce) {
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    at::manual_seed(1);
    std::vector<at::Tensor> inputs;
    for (int i = 0; i < 5; ++i) inputs.push_back(at::randn({2500}).to(dtype));
    at::Tensor expected = at::zeros({2500});
    for (const auto& input : inputs) expected += input.to(at::kFloat);
    EXPECT_TRUE(reduced(inputs, {}).equal(expected.to(dtype)));
  }
}

TEST(ReduceKernel, DividesAnAverageByTheNumberOfInputs) {
  const at::Tensor ones = at::ones({1030}, at::kDouble);
  EXPECT_TRUE(reduced({ones, ones * 2, ones * 6}, {Reduction::average}).equal(ones * 3));
}

TEST(ReduceKernel, ScalesEveryInput) {
  const at::Tensor ones = at::ones({7});
  EXPECT_TRUE(reduced({ones, ones * 2}, {Reduction::sum, 0.25}).equal(ones * 0.75));
}

TEST(ReduceKernel, LetsNotANumberWinMaximumAndMinimum) {
  const at::Tensor nan = at::full({2}, std::numeric_limits<float>::quiet_NaN());
  const at::Tensor one = at::ones({2});
  for (const auto reduction : {Reduction::max, Reduction::min}) {
    EXPECT_TRUE(reduced({nan, one}, {reduction}).isnan().all().item<bool>());
    EXPECT_TRUE(reduced({one, nan}, {reduction}).isnan().all().item<bool>());
  }
}

TEST(ReduceKernel, TakesWholeNumbers) {
  for (const auto dtype : {at::kChar, at::kByte, at::kInt, at::kLong}) {
    const at::Tensor values = at::arange(5).to(dtype);
    EXPECT_TRUE(reduced({values, values}, {}).equal(values * 2));
    EXPECT_TRUE(reduced({values, values * 3}, {Reduction::max}).equal(values * 3));
  }
}

TEST(ReduceKernel, RefusesTypesItCannotAdd) {
  EXPECT_EQ(sheaf::testing::error_of([] { check_reducible(at::kBool); }),
            "reductions take float, double, half, bfloat16, int8, uint8, int32 and int64 tensors, "
            "got Bool");
}

}  // namespace
}  // namespace sheaf::comm
