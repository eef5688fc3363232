// A program of its own, because the allocator is installed before the tests make tensors.
#include "sheaf/memory/cpu_usage.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

namespace sheaf::memory {
namespace {

using ::testing::ElementsAre;

/// What main() did and saw before count_cpu_tensors().
struct BeforeCounting {
  at::Tensor made;
  at::Tensor grown_later;
  CpuUsage usage;
};

BeforeCounting& before_counting() {
  static BeforeCounting before;
  return before;
}

void prepare() {
  before_counting().made = at::ones({1024}, at::kByte);
  before_counting().grown_later = at::ones({16}, at::kByte);
  before_counting().usage = cpu_usage();
  count_cpu_tensors();
}

Bytes in_use() { return cpu_usage().current; }

/// What is in use more than at the time it was made.
class Since {
 public:
  Since() : start_(in_use().count) { reset_cpu_peak(); }
  [[nodiscard]] std::int64_t current() const { return in_use().count - start_; }
  [[nodiscard]] std::int64_t peak() const { return cpu_usage().peak.count - start_; }

 private:
  std::int64_t start_;
};

/// Listens as a profiler does.
struct Listener final : c10::MemoryReportingInfoBase {
  std::vector<std::int64_t> sizes;

  void reportMemoryUsage(
      void* /*ptr*/, std::int64_t size, std::size_t, std::size_t, c10::Device device) override {
    if (device.is_cpu()) sizes.push_back(size);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
};

at::Tensor byte_tensor(std::int64_t count) { return at::empty({count}, at::kByte); }

TEST(CpuUsage, IsZeroBeforeCounting) {
  EXPECT_EQ(before_counting().usage.current, Bytes{0});
  EXPECT_EQ(before_counting().usage.peak, Bytes{0});
}

TEST(CpuUsage, LetsATensorFromBeforeGo) {
  const Since since;
  before_counting().made.reset();
  EXPECT_EQ(since.current(), 0);
}

TEST(CpuUsage, LetsATensorFromBeforeGrow) {
  const at::Tensor& tensor = before_counting().grown_later;
  const Since since;
  tensor.resize_({4096});
  EXPECT_EQ(tensor.narrow(0, 0, 16).sum().item<std::int64_t>(), 16);
  EXPECT_EQ(since.current(), 0);
}

TEST(CpuUsage, CountsWhatATensorAskedFor) {
  const Since since;
  at::Tensor tensor = byte_tensor(1000);
  EXPECT_EQ(since.current(), 1000);
  tensor.reset();
  EXPECT_EQ(since.current(), 0);
  EXPECT_EQ(since.peak(), 1000);
}

TEST(CpuUsage, ResetsThePeakToWhatIsInUse) {
  const at::Tensor kept = byte_tensor(1000);
  byte_tensor(5000).reset();
  reset_cpu_peak();
  EXPECT_EQ(cpu_usage().peak, in_use());
}

TEST(CpuUsage, RisesInAStepAndFallsBack) {
  constexpr std::int64_t kActivation = std::int64_t{64} * 32 * sizeof(float);
  const Since since;
  {
    torch::nn::Linear layer(16, 32);
    const at::Tensor output = torch::relu(layer->forward(at::ones({64, 16})));
    EXPECT_GE(since.current(), kActivation);
    output.sum().backward();
    EXPECT_TRUE(layer->weight.grad().defined());
  }
  // The output of the layer, that of relu and the gradient of one of them live at the same time.
  EXPECT_GE(since.peak(), 3 * kActivation);
  EXPECT_EQ(since.current(), 0);
}

TEST(CpuUsage, CountsOldAndNewMemoryOfResize) {
  const Since since;
  at::Tensor tensor = byte_tensor(1000);
  tensor.resize_({4000});
  EXPECT_EQ(since.current(), 4000);
  EXPECT_EQ(since.peak(), 5000);
  tensor.reset();
  EXPECT_EQ(since.current(), 0);
}

TEST(CpuUsage, CountsATensorOfAnotherThread) {
  const Since since;
  at::Tensor tensor;
  std::thread([&] { tensor = byte_tensor(1000); }).join();
  EXPECT_EQ(since.current(), 1000);
  tensor.reset();
  EXPECT_EQ(since.current(), 0);
}

TEST(CpuUsage, CountsRightFromManyThreads) {
  const Since since;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int round = 0; round < 1000; ++round) byte_tensor(100).reset();
    });
  }
  threads.clear();
  EXPECT_EQ(since.current(), 0);
  EXPECT_GE(since.peak(), 100);
  EXPECT_LE(since.peak(), 400);
}

TEST(CpuUsage, TakesNothingForEmptyTensors) {
  const Since since;
  at::Tensor tensor = byte_tensor(0);
  EXPECT_EQ(tensor.data_ptr(), nullptr);
  tensor.reset();
  EXPECT_EQ(since.peak(), 0);
}

TEST(CpuUsage, IsCountedOnceAfterASecondCall) {
  count_cpu_tensors();
  const Since since;
  const at::Tensor tensor = byte_tensor(1000);
  EXPECT_EQ(since.current(), 1000);
}

TEST(CpuUsage, TellsTheProfiler) {
  const auto listener = std::make_shared<Listener>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, listener);
    byte_tensor(1000).reset();
  }
  EXPECT_THAT(listener->sizes, ElementsAre(1000, -1000));
}

TEST(CountingAllocator, AlignsAsLibTorchDoes) {
  for (const std::int64_t count : {1, 63, 64, 65, 5000}) {
    const at::Tensor tensor = byte_tensor(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % c10::gAlignment, 0U);
  }
}

TEST(CountingAllocator, HandsOutPlainPointers) {
  const Since since;
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  void* const data = allocator->raw_allocate(1000);
  EXPECT_EQ(since.current(), 1000);
  allocator->raw_deallocate(data);
  allocator->raw_deallocate(allocator->raw_allocate(0));
  EXPECT_EQ(since.current(), 0);
}

TEST(CountingAllocator, ClonesData) {
  const Since since;
  const char text[] = "sheaf";
  c10::DataPtr copy = c10::GetCPUAllocator()->clone(text, sizeof(text));
  EXPECT_STREQ(static_cast<const char*>(copy.get()), "sheaf");
  EXPECT_TRUE(c10::GetCPUAllocator()->is_simple_data_ptr(copy));
  copy.clear();
  EXPECT_EQ(since.current(), 0);
}

TEST(CountingAllocator, RefusesASizeThatWrapsAround) {
  const Since since;
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(c10::GetCPUAllocator()->allocate(kMost), c10::Error);
  EXPECT_EQ(since.peak(), 0);
}

}  // namespace
}  // namespace sheaf::memory

int main(int argc, char** argv) {
  sheaf::memory::prepare();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
