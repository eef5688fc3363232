#include "sheaf/train/memory_use.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/memory/cpu_usage.h"
#include "support/on_ranks.h"

namespace sheaf::train {
namespace {

using ::testing::HasSubstr;

TEST(MeasureMemory, CountsTensorsOfTheCpu) {
  const auto before = measure_memory(at::kCPU);
  at::Tensor tensor = at::ones({1 << 20}, at::kByte);
  EXPECT_EQ(measure_memory(at::kCPU).allocated.count, before.allocated.count + (1 << 20));
  tensor.reset();
  const auto after = measure_memory(at::kCPU);
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_GE(after.peak_allocated.count, before.allocated.count + (1 << 20));
}

TEST(MeasureMemory, CountsTheProcess) {
  const auto use = measure_memory(at::kCPU);
  EXPECT_GT(use.resident, mebibytes(1));
  EXPECT_GE(use.peak_resident, use.resident);
  EXPECT_EQ(use.reserved, Bytes{0});
}

TEST(MeasureMemory, RefusesOtherDevices) {
  EXPECT_THAT(testing::error_of([] { (void)measure_memory(at::kMeta); }), HasSubstr("meta"));
  EXPECT_THAT(testing::error_of([] { (void)device_name(at::kMeta); }), HasSubstr("meta"));
}

TEST(DeviceName, IsTheProcessors) { EXPECT_NE(device_name(at::kCPU), ""); }

}  // namespace
}  // namespace sheaf::train

int main(int argc, char** argv) {
  sheaf::memory::count_cpu_tensors();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
