// The gated rows that the CPU computes, which kernels for GPUs are compared with.
#include "nn/kernels/swiglu.h"

#include <torch/nn.h>

#include "outcome.h"

namespace sheaf::nn {
namespace {

/// Value and gradients by LibTorch's operators in fp64.
struct Expected {
  at::Tensor value;
  at::Tensor of_gate;
  at::Tensor of_up;
};

Expected expected(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& of_result) {
  const Tensors leaves{gate.to(at::kDouble).clone().requires_grad_(),
                       up.to(at::kDouble).clone().requires_grad_()};
  const at::Tensor value = at::silu(leaves[0]) * leaves[1];
  value.backward(of_result.to(at::kDouble));
  return {value.detach(), leaves[0].grad(), leaves[1].grad()};
}

void expect_formula(const at::Tensor& gate, const at::Tensor& up, double tolerance) {
  const at::Tensor of_result = at::randn(gate.sizes()).to(gate.scalar_type());
  const Expected plain = expected(gate, up, of_result);
  expect_near(swiglu_rows(gate, up), plain.value, tolerance);
  for (const bool with_again : {false, true}) {
    const SwigluGradients own = swiglu_rows_gradients(gate, up, of_result, with_again);
    expect_near(own.gate, plain.of_gate, tolerance);
    expect_near(own.up, plain.of_up, tolerance);
    ASSERT_EQ(own.again.defined(), with_again);
    if (with_again) EXPECT_TRUE(own.again.equal(swiglu_rows(gate, up)));
  }
}

TEST(SwigluRows, AreTheFormulaInAllTypes) {
  for (const std::int64_t width : {1, 7, 33, 1280}) {
    for (const std::int64_t rows : {1, 5}) {
      const at::Tensor gate = at::randn({rows, width}) * 3, up = at::randn({rows, width});
      expect_formula(gate.to(at::kDouble), up.to(at::kDouble), 1e-12);
      expect_formula(gate, up, 3e-6);
      expect_formula(gate.to(at::kBFloat16), up.to(at::kBFloat16), 1e-2);
    }
  }
}

TEST(SwigluRows, KeepHalvesOfOneMatrixTogether) {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor both = at::randn({5, 14}).to(type);
    const at::Tensor gate = both.narrow(1, 0, 7), up = both.narrow(1, 7, 7);
    expect_formula(gate, up, 1e-2);
    const SwigluGradients own = swiglu_rows_gradients(gate, up, at::ones_like(gate), false);
    EXPECT_TRUE(own.gate.is_alias_of(own.up));
    EXPECT_EQ(own.up.storage_offset(), own.gate.storage_offset() + 7);
    EXPECT_EQ(own.gate.stride(0), 14);
  }
}

TEST(SwigluRows, TakeNoRows) {
  const at::Tensor none = at::empty({0, 8});
  EXPECT_EQ(swiglu_rows(none, none).size(0), 0);
  EXPECT_EQ(swiglu_rows_gradients(none, none, none, true).again.size(0), 0);
}

}  // namespace
}  // namespace sheaf::nn
