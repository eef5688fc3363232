// Gated rows on a GPU: what the CPU gives.
#include "kernels_on_cuda.h"
#include "nn/kernels/swiglu.h"

namespace sheaf::nn {
namespace {

class SwigluKernelsOnCuda : public OnCuda {
 protected:
  using Change = std::function<at::Tensor(const at::Tensor&)>;

  /// Cuts `both` into gate and up, on the CPU and on the GPU.
  static void expect_same(const at::Tensor& both,
                          const Change& cut,
                          const Change& cut_other,
                          const Change& to_gpu = on_gpu) {
    const double near = tolerance(both.scalar_type());
    const at::Tensor gate = cut(both), up = cut_other(both);
    const at::Tensor of_result = at::randn(gate.sizes()).to(both.scalar_type());
    const at::Tensor gpu = to_gpu(both), gpu_gate = cut(gpu), gpu_up = cut_other(gpu);
    const at::Tensor value = swiglu_rows(gpu_gate, gpu_up);
    expect_close(value, swiglu_rows(gate, up), near);
    const auto cpu = swiglu_rows_gradients(gate, up, of_result, true);
    const auto own = swiglu_rows_gradients(gpu_gate, gpu_up, to_gpu(of_result), true);
    expect_close(own.gate, cpu.gate, near);
    expect_close(own.up, cpu.up, near);
    EXPECT_TRUE(own.again.equal(value));
    EXPECT_EQ(own.gate.strides(), cpu.gate.strides());
  }

  static void expect_same_halves(const at::Tensor& both, const Change& to_gpu = on_gpu) {
    const std::int64_t hidden = both.size(1) / 2;
    expect_same(
        both,
        [=](const at::Tensor& x) { return x.narrow(1, 0, hidden); },
        [=](const at::Tensor& x) { return x.narrow(1, hidden, hidden); },
        to_gpu);
  }

  static void expect_same_apart(const at::Tensor& both, const Change& to_gpu = on_gpu) {
    const std::int64_t rows = both.size(0) / 2;
    expect_same(
        both,
        [=](const at::Tensor& x) { return x.narrow(0, 0, rows); },
        [=](const at::Tensor& x) { return x.narrow(0, rows, rows); },
        to_gpu);
  }
};

TEST_F(SwigluKernelsOnCuda, AreThoseOfTheCpuInAllWidths) {
  for (const auto type : types()) {
    for (const std::int64_t width : {1, 7, 8, 33, 1280, 2048, 5000}) {
      SCOPED_TRACE(std::string(c10::toString(type)) + " of width " + std::to_string(width));
      expect_same_apart((at::randn({2 * 19, width}) * 3).to(type));
      expect_same_halves((at::randn({19, 2 * width}) * 3).to(type));
    }
  }
}

TEST_F(SwigluKernelsOnCuda, TakeAnyNumberOfRows) {
  for (const std::int64_t rows : {1, 2, 20000}) {
    expect_same_halves(at::randn({rows, 32}).to(at::kBFloat16));
  }
}

TEST_F(SwigluKernelsOnCuda, TakeMemoryAtAnyAddress) {
  const Change shifted = [](const at::Tensor& x) { return unaligned(x.to(at::kCUDA)); };
  for (const auto type : types()) {
    expect_same_halves(at::randn({9, 64}).to(type), shifted);
    expect_same_apart(at::randn({18, 64}).to(type), shifted);
  }
}

TEST_F(SwigluKernelsOnCuda, TakeColumnsThatLieApart) {
  expect_same_apart(at::randn({18, 64}).to(at::kBFloat16),
                    [](const at::Tensor& x) { return x.to(at::kCUDA).t().contiguous().t(); });
}

TEST_F(SwigluKernelsOnCuda, TakeNoRows) {
  const at::Tensor none = at::empty({0, 8}, at::kCUDA);
  EXPECT_EQ(swiglu_rows(none, none).size(0), 0);
  EXPECT_EQ(swiglu_rows_gradients(none, none, none, true).again.size(0), 0);
}

TEST_F(SwigluKernelsOnCuda, StayFiniteAtExtremes) {
  const at::Tensor gate =
      at::tensor({-1e30F, -1e4F, -100.0F, -88.5F, 60.0F, 88.5F, 1e4F, 1e18F}).view({1, 8});
  const at::Tensor ones = at::ones_like(gate);
  expect_close(swiglu_rows(gate.cuda(), ones.cuda()), swiglu_rows(gate, ones), 1e-6);
  const auto gpu = swiglu_rows_gradients(gate.cuda(), ones.cuda(), ones.cuda(), false);
  expect_close(gpu.gate, swiglu_rows_gradients(gate, ones, ones, false).gate, 1e-6);
}

}  // namespace
}  // namespace sheaf::nn
