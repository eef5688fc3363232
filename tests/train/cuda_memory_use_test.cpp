// What is known of a GPU; skipped where there is none.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/train/memory_use.h"
#include "sheaf/train/peak_flops.h"

namespace sheaf::train {
namespace {

class MemoryUseOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_F(MemoryUseOnCuda, IsThatOfTheCachingAllocator) {
  const at::Device device(at::kCUDA, 0);
  const auto before = measure_memory(device);
  at::Tensor tensor = at::ones({1 << 20}, at::TensorOptions(device).dtype(at::kByte));
  EXPECT_EQ(measure_memory(device).allocated.count, before.allocated.count + (1 << 20));
  tensor.reset();
  const auto after = measure_memory(at::kCUDA);
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_GE(after.peak_allocated.count, 1 << 20);
  EXPECT_GE(after.peak_active, after.peak_allocated);
  EXPECT_GE(after.reserved.count, 1 << 20);
  EXPECT_GT(after.peak_resident, mebibytes(1));
}

TEST_F(MemoryUseOnCuda, NamesADeviceThatThePeakTableMayKnow) {
  const std::string name = device_name(at::Device(at::kCUDA, 0));
  EXPECT_NE(name, "");
  RecordProperty("peak", gpu_peak(name, Arithmetic::bf16).source);
}

}  // namespace
}  // namespace sheaf::train
