// Rotary positions on a GPU: what the CPU gives.
#include "kernels_on_cuda.h"
#include "nn/kernels/rotary_rows.h"
#include "sheaf/nn/rotary.h"

namespace sheaf::nn {
namespace {

class RotaryKernelsOnCuda : public OnCuda {
 protected:
  static void expect_same(const at::Tensor& gpu, const at::Tensor& cpu, const RotaryTable& table) {
    const at::Tensor cosines = table.cosines.to(at::kCUDA), sines = table.sines.to(at::kCUDA);
    for (const int sign : {1, -1}) {
      const at::Tensor expected = rotated_rows(cpu, table.cosines, table.sines, sign);
      expect_close(rotated_rows(gpu, cosines, sines, sign), expected, tolerance(cpu.scalar_type()));
      at::Tensor part = gpu.clone(at::MemoryFormat::Preserve);
      rotate_rows_(part, cosines, sines, sign);
      expect_close(part, expected, tolerance(cpu.scalar_type()));
    }
  }

  static RotaryTable table_of(std::int64_t head_size) {
    return make_rotary_table({.head_size = head_size, .num_positions = 64}, at::kCPU);
  }
};

TEST_F(RotaryKernelsOnCuda, AreThoseOfTheCpuInAllSizes) {
  for (const auto type : types()) {
    for (const std::int64_t size : {2, 6, 16, 64, 80, 128}) {
      for (const std::int64_t heads : {1, 3, 4, 9}) {
        SCOPED_TRACE(std::to_string(heads) + " heads of " + std::to_string(size));
        const at::Tensor x = at::randn({2, 37, heads, size}).to(type);
        expect_same(x.to(at::kCUDA), x, table_of(size));
      }
    }
  }
}

TEST_F(RotaryKernelsOnCuda, TakePositionsByText) {
  const at::Tensor positions = at::randint(64, {3, 17}, at::kLong);
  const RotaryTable table = table_of(64);
  const at::Tensor x = at::randn({3, 17, 5, 64}).to(at::kBFloat16);
  expect_same(x.to(at::kCUDA), x, rows_at(table, positions));
}

TEST_F(RotaryKernelsOnCuda, TakeMemoryAtAnyAddress) {
  for (const auto type : types()) {
    const at::Tensor x = at::randn({2, 5, 3, 16}).to(type);
    expect_same(unaligned(x.to(at::kCUDA)), x, table_of(16));
  }
}

// Only the queries and keys of a product that has the values, too.
TEST_F(RotaryKernelsOnCuda, TurnPartsOfLargerTensorsInPlace) {
  const at::Tensor all = at::randn({2, 37, 9 * 32}).to(at::kBFloat16);
  const auto part_of = [](const at::Tensor& x) {
    return x.narrow(2, 32, 6 * 32).view({2, 37, 6, 32});
  };
  const RotaryTable table = table_of(32);
  const at::Tensor gpu = all.to(at::kCUDA), cpu = all.clone();
  at::Tensor gpu_part = part_of(gpu), cpu_part = part_of(cpu);
  rotate_rows_(gpu_part, table.cosines.to(at::kCUDA), table.sines.to(at::kCUDA), 1);
  rotate_rows_(cpu_part, table.cosines, table.sines, 1);
  expect_close(gpu, cpu, tolerance(at::kBFloat16));
  EXPECT_TRUE(gpu.cpu().narrow(2, 7 * 32, 2 * 32).equal(all.narrow(2, 7 * 32, 2 * 32)));
}

TEST_F(RotaryKernelsOnCuda, TakeHeadsBeforePositions) {
  const at::Tensor x = at::randn({2, 4, 37, 16}).to(at::kBFloat16);
  expect_same(x.to(at::kCUDA).transpose(1, 2), x.transpose(1, 2), table_of(16));
}

TEST_F(RotaryKernelsOnCuda, TakeNoTexts) {
  const at::Tensor x = at::empty({0, 4, 3, 16});
  expect_same(x.to(at::kCUDA), x, table_of(16));
}

}  // namespace
}  // namespace sheaf::nn
