// Products and blocks on a GPU against the CPU's; skipped where there is none.
#include "block_formulas.h"
#include "kernels_on_cuda.h"
#include "nn/kernels/fused_product.h"
#include "nn/kernels/gelu_rows.h"

namespace sheaf::nn {
namespace {

class ProductKernels : public OnCuda {
 protected:
  static void expect_product(const FusedProduct& cpu, double tolerance) {
    FusedProduct gpu{.a = on_gpu(cpu.a),
                     .b = on_gpu(cpu.b),
                     .result = on_gpu(cpu.result),
                     .adds = cpu.adds,
                     .residual = on_gpu(cpu.residual),
                     .bias = on_gpu(cpu.bias),
                     .inner = on_gpu(cpu.inner)};
    expect_close(fused_product(gpu), fused_product(cpu), tolerance);
    if (cpu.inner.defined()) expect_close(gpu.inner, cpu.inner, tolerance);
  }
};

TEST_F(ProductKernels, AllEndings) {
  for (const at::ScalarType type : types()) {
    for (const auto& [m, n, k] : {std::array{64L, 128L, 256L}, {8L, 16L, 24L}, {5L, 7L, 3L}}) {
      SCOPED_TRACE(std::string(c10::toString(type)) + " " + std::to_string(m));
      const at::Tensor a = (at::randn({m, k}) * 0.2).to(type), b = at::randn({k, n}).to(type);
      const at::Tensor bias = at::randn({n}).to(type), other = at::randn({m, n}).to(type);
      // Long sums in fp32.
      const double near = std::max(tolerance(type), 2e-5);
      expect_product({.a = a, .b = b}, near);
      expect_product({.a = a, .b = b.t().contiguous().t(), .bias = bias}, near);
      expect_product({.a = a.t().contiguous().t(), .b = b, .residual = other, .bias = bias}, near);
      expect_product({.a = a, .b = b, .result = other.clone(), .adds = true}, near);
      expect_product({.a = a, .b = b, .result = other.to(at::kFloat), .adds = true}, near);
      expect_product({.a = a, .b = b, .bias = bias, .inner = at::empty_like(other)}, near);
    }
  }
}

TEST_F(ProductKernels, AllEndingsInTf32) {
  const at::Tensor a = at::randn({64, 256}) * 0.2, b = at::randn({256, 128});
  const at::Tensor bias = at::randn({128}), other = at::randn({64, 128});
  // A tf32 number has more digits than a bf16 one.
  const double near = tolerance(at::kBFloat16);
  at::globalContext().setAllowTF32CuBLAS(true);
  expect_product({.a = a, .b = b, .residual = other, .bias = bias}, near);
  expect_product({.a = a, .b = b, .result = other.clone(), .adds = true}, near);
  expect_product({.a = a, .b = b, .bias = bias, .inner = at::empty_like(other)}, near);
  at::globalContext().setAllowTF32CuBLAS(false);
}

TEST_F(ProductKernels, LargeOnesAreSearchedAndRightInEveryEnding) {
  const at::ScalarType type = at::kBFloat16;
  const at::Tensor a = (at::randn({1024, 1280}) * 0.05).to(type);
  const at::Tensor b = at::randn({1280, 1024}).to(type);
  const at::Tensor other = at::randn({1024, 1024}).to(type), bias = at::randn({1024}).to(type);
  expect_product({.a = a, .b = b, .residual = other, .bias = bias}, tolerance(type));
  expect_product({.a = a, .b = b, .result = other.to(at::kFloat), .adds = true}, tolerance(type));
  expect_product({.a = a, .b = b, .bias = bias, .inner = at::empty_like(other)}, tolerance(type));
}

class GeluKernels : public OnCuda {};

TEST_F(GeluKernels, GoBackThroughGeluWithSumsOfColumns) {
  for (const at::ScalarType type : types()) {
    for (const auto& [rows, width] : {std::array{512L, 1280L}, {1L, 8L}, {33L, 7L}, {5L, 1L}}) {
      SCOPED_TRACE(std::string(c10::toString(type)) + " " + std::to_string(width));
      const at::Tensor inner = (at::randn({rows, width}) * 3).to(type);
      at::Tensor cpu = at::randn({rows, width}).to(type), gpu = on_gpu(cpu).clone();
      at::Tensor cpu_sums = at::full({width}, 100.0), gpu_sums = on_gpu(cpu_sums).clone();
      const at::Tensor expected = gelu_rows_back(inner, cpu, {cpu_sums, /*adds=*/true});
      const at::Tensor again = gelu_rows_back(on_gpu(inner), gpu, {gpu_sums, /*adds=*/true});
      expect_close(again, expected, tolerance(type));
      expect_close(gpu, cpu, tolerance(type));
      expect_close(gpu_sums, cpu_sums, tolerance(type));
    }
  }
}

TEST_F(ProductKernels, TakeRowsWithGapsBetweenThem) {
  const at::Tensor a = at::randn({64, 32}).to(at::kBFloat16);
  const at::Tensor b = at::randn({32, 57}).to(at::kBFloat16);
  const at::Tensor room = at::zeros({64, 64}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
  fused_product({.a = on_gpu(a), .b = on_gpu(b), .result = room.narrow(1, 0, 57)});
  expect_close(room.narrow(1, 0, 57), fused_product({.a = a, .b = b}), tolerance(at::kBFloat16));
  EXPECT_TRUE(room.narrow(1, 57, 7).eq(0).all().item<bool>());
}

class BlockKernels : public OnCuda {};

TEST_F(BlockKernels, AreTheFormulas) {
  std::vector<BlockCase> cases = block_cases();
  cases.push_back(gelu_case(WeightLayout::in_out, 128, 512));
  cases.push_back(swiglu_case(128, 384, /*joined=*/true));
  cases.push_back(packed_case(128));
  cases.push_back(grouped_case(256, 64));
  for (const BlockCase& each : cases) {
    for (const at::ScalarType type : types()) {
      SCOPED_TRACE(each.name + " " + c10::toString(type));
      Tensors narrow, wide;
      for (const at::Tensor& input : each.inputs) {
        narrow.push_back(input.to(at::kCUDA, type));
        wide.push_back(narrow.back().cpu().to(at::kDouble));
      }
      const Outcome gpu = outcome(each.own, narrow, type);
      const Outcome cpu = outcome(each.plain, wide, at::kDouble);
      // Sums over all rows and several roundings on the way.
      const double near = 8 * tolerance(type);
      expect_near(gpu.value.cpu().to(at::kDouble), cpu.value, near);
      for (std::size_t i = 0; i < cpu.gradients.size(); ++i) {
        SCOPED_TRACE("gradient " + std::to_string(i));
        expect_near(gpu.gradients[i].cpu().to(at::kDouble), cpu.gradients[i], near);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::nn
