#pragma once

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gtest/gtest.h>

#include <vector>

#include "outcome.h"

namespace sheaf::nn {

/// The base of tests that compare kernels for GPUs with their CPU twins; skips where there is no
/// GPU.
class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
    at::manual_seed(7);
  }

  /// Types with kernels of their own.
  static std::vector<at::ScalarType> types() { return {at::kFloat, at::kBFloat16, at::kHalf}; }

  /// What rounding to `type` allows, of the largest element.
  static double tolerance(at::ScalarType type) {
    if (type == at::kFloat) return 4e-6;
    return type == at::kHalf ? 1.5e-3 : 1e-2;
  }

  /// Returns `x` on the GPU, or an undefined tensor for one.
  static at::Tensor on_gpu(const at::Tensor& x) { return x.defined() ? x.to(at::kCUDA) : x; }

  /// Returns the same values at an address that is no multiple of 16 bytes.
  static at::Tensor unaligned(const at::Tensor& x) {
    const at::Tensor room = at::empty({x.numel() + 1}, x.options());
    return room.narrow(0, 1, x.numel()).view(x.sizes()).copy_(x);
  }

  static void expect_close(const at::Tensor& gpu, const at::Tensor& cpu, double tolerance) {
    ASSERT_EQ(gpu.defined(), cpu.defined());
    if (!cpu.defined()) return;
    EXPECT_TRUE(gpu.is_cuda());
    EXPECT_EQ(gpu.scalar_type(), cpu.scalar_type());
    expect_near(gpu.cpu(), cpu, tolerance);
  }
};

}  // namespace sheaf::nn
