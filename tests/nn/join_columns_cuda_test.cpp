#include "kernels_on_cuda.h"
#include "nn/kernels/join_columns.h"

namespace sheaf::nn {
namespace {

class JoinColumnsKernelsOnCuda : public OnCuda {
 protected:
  static void expect_joined(const std::vector<at::Tensor>& cpu,
                            const std::vector<at::Tensor>& gpu,
                            at::ScalarType sum_type) {
    const at::Tensor whole = at::cat(cpu, 1);
    for (const bool adds : {false, true}) {
      const at::Tensor cpu_sums = at::full({whole.size(1)}, 3, sum_type);
      const at::Tensor gpu_sums = at::full({whole.size(1)}, 3, on_gpu(cpu_sums).options());
      (void)join_columns(cpu, {cpu_sums, adds});
      EXPECT_TRUE(join_columns(gpu, {gpu_sums, adds}).cpu().equal(whole));
      expect_close(gpu_sums, cpu_sums, tolerance(sum_type) + 1e-5);
    }
  }
};

TEST_F(JoinColumnsKernelsOnCuda, AreThoseOfTheCpu) {
  for (const auto type : types()) {
    for (const std::int64_t rows : {1, 31, 700}) {
      for (const auto& widths : {std::vector<std::int64_t>{1280, 1280, 1280},
                                 {2048, 512, 512},
                                 {8, 264},
                                 {7, 1, 33},
                                 {16}}) {
        std::vector<at::Tensor> cpu, gpu;
        for (const std::int64_t width : widths) {
          cpu.push_back(at::randn({rows, width}).to(type));
          gpu.push_back(on_gpu(cpu.back()));
        }
        SCOPED_TRACE(std::to_string(rows) + " rows, first of " + std::to_string(widths[0]));
        expect_joined(cpu, gpu, at::kFloat);
        expect_joined(cpu, gpu, type);
      }
    }
  }
}

TEST_F(JoinColumnsKernelsOnCuda, TakeViewsAtAnyAddressAndWithGaps) {
  const at::Tensor a = at::randn({50, 64}).to(at::kBFloat16), b = at::randn({50, 64}).to(a);
  expect_joined({a, b}, {unaligned(on_gpu(a)), on_gpu(b)}, at::kBFloat16);
  expect_joined({a.narrow(1, 8, 16), b}, {on_gpu(a).narrow(1, 8, 16), on_gpu(b)}, at::kFloat);
  const at::Tensor none = at::empty({0, 16});
  expect_joined({none, none}, {on_gpu(none), on_gpu(none)}, at::kFloat);
}

}  // namespace
}  // namespace sheaf::nn
