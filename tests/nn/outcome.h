#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace sheaf::nn {

using Tensors = std::vector<at::Tensor>;
using Formula = std::function<at::Tensor(const Tensors& inputs)>;

/// What a formula gives, and the gradients of all its inputs.
struct Outcome {
  at::Tensor value;
  Tensors gradients;
};

/// Computes in `type`, with inputs of that type, and weighs the elements of the value differently.
inline Outcome outcome(const Formula& formula,
                       const Tensors& inputs,
                       at::ScalarType type = at::kFloat) {
  Tensors leaves;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.detach().to(type).clone().requires_grad_());
  }
  const at::Tensor value = formula(leaves);
  const at::Tensor weights =
      at::linspace(-1, 2, value.numel(), at::kDouble).cos().view(value.sizes());
  value.backward(weights.to(value.options()));
  Tensors gradients;
  for (const at::Tensor& leaf : leaves) {
    gradients.push_back(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
  }
  return {value.detach(), gradients};
}

/// Compares by the largest element of what is expected, as sums of many terms cancel.
inline void expect_near(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  if (expected.numel() == 0) return;
  const double scale = std::max(expected.to(at::kDouble).abs().max().item<double>(), 1e-6);
  const double off = (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
  EXPECT_LE(off, tolerance * scale) << "of " << scale;
}

inline void expect_near(const Outcome& actual, const Outcome& expected, double tolerance) {
  expect_near(actual.value, expected.value, tolerance);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    expect_near(actual.gradients[i], expected.gradients[i], tolerance);
  }
}

/// Compares `own` in fp64, fp32 and bf16 with the formula in fp64, on inputs that bf16 can hold.
inline void expect_same_in_all_types(const Formula& own, const Formula& plain, Tensors inputs) {
  for (at::Tensor& input : inputs) input = input.to(at::kBFloat16).to(at::kDouble);
  const Outcome expected = outcome(plain, inputs, at::kDouble);
  {
    SCOPED_TRACE("fp64");
    expect_near(outcome(own, inputs, at::kDouble), expected, 1e-12);
  }
  {
    SCOPED_TRACE("fp32");
    expect_near(outcome(own, inputs, at::kFloat), expected, 3e-6);
  }
  SCOPED_TRACE("bf16");
  expect_near(outcome(own, inputs, at::kBFloat16), expected, 3e-2);
}

/// Sets the number of threads of LibTorch's operators, and sets it back.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace sheaf::nn
