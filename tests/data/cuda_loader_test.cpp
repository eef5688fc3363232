// Batches on a GPU; skipped where there is none.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "data/numbers.h"
#include "gpu/gpu_watch.h"
#include "sheaf/data/loader.h"

namespace sheaf::data {
namespace {

TEST(LoaderOnCuda, GivesTheSameBatchesAsOnTheCpu) {
  if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  const auto dataset = std::make_shared<testing::Numbers>(10'000);
  for (const int workers : {0, 1, 3}) {
    LoaderOptions options{.global_batch = 256, .seed = 1, .workers = workers};
    Loader on_cpu(dataset, options);
    options.device = at::Device(at::kCUDA, 0);
    Loader on_cuda(dataset, options);
    // All before the first is looked at: memory that is used again too early would show.
    std::vector<Batch> batches;
    for (int i = 0; i < 50; ++i) batches.push_back(on_cuda.next());
    for (const Batch& batch : batches) {
      const Batch expected = on_cpu.next();
      ASSERT_TRUE(batch.inputs.is_cuda());
      EXPECT_TRUE(batch.inputs.cpu().equal(expected.inputs));
      EXPECT_TRUE(batch.targets.cpu().equal(expected.targets));
    }
  }
}

TEST(LoaderOnCuda, DoesNotWaitForItsCopies) {
  if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  Loader loader(std::make_shared<testing::Numbers>(10'000),
                {.global_batch = 256, .workers = 1, .device = at::Device(at::kCUDA, 0)});
  std::vector<Batch> batches{loader.next()};
  const sheaf::testing::NoHostWaiting watch;
  for (int i = 0; i < 20; ++i) EXPECT_NO_THROW(batches.push_back(loader.next()));
}

const at::Device kGpu(at::kCUDA, 0);

/// Reads a tensor without regard to the stream that computes.
at::Tensor read_beside(const at::Tensor& tensor) {
  const c10::StreamGuard beside(
      c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(kGpu));
  return tensor.cpu();
}

/// Tells whether the loader's next batch is there while the stream that computes is at work.
bool next_batch_comes_beside_work(Loader& loader, const Batch& expected) {
  sheaf::testing::keep_gpu_busy();
  c10::Event work(at::kCUDA);
  work.record(c10::impl::VirtualGuardImpl(at::kCUDA).getStream(kGpu));
  const Batch batch = loader.next();
  bool came = false;
  while (!came && !work.query()) {
    came = read_beside(batch.inputs).equal(expected.inputs) && !work.query();
  }
  sheaf::testing::finish_gpu_work();
  return came;
}

/// In some of several tries: a worker may be late in one.
bool copies_beside_work(const LoaderOptions& options) {
  const auto dataset = std::make_shared<testing::Numbers>(10'000);
  Loader loader(dataset, options);
  LoaderOptions on_host = options;
  on_host.device = at::kCPU;
  Loader expected(dataset, on_host);
  static_cast<void>(loader.next());
  static_cast<void>(expected.next());
  for (int i = 0; i < 5; ++i) {
    if (next_batch_comes_beside_work(loader, expected.next())) return true;
  }
  return false;
}

TEST(LoaderOnCuda, CopiesTheNextBatchWhileTheGpuComputes) {
  if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  EXPECT_TRUE(copies_beside_work({.global_batch = 256, .device = kGpu}));
}

TEST(LoaderOnCuda, CopiesWhenAskedWhereItMayNotCopyAhead) {
  if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  EXPECT_FALSE(copies_beside_work({.global_batch = 256, .device = kGpu, .copy_ahead = false}));
}

TEST(LoaderOnCuda, StartsAgainWhileABatchIsOnItsWay) {
  if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  const auto dataset = std::make_shared<testing::Numbers>(10'000);
  Loader loader(dataset, {.global_batch = 256, .device = kGpu});
  const at::Tensor first = loader.next().inputs;
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(loader.next());
    loader.set_epoch(0);
    EXPECT_EQ(loader.position().done, 0);
    EXPECT_TRUE(loader.next().inputs.equal(first));
  }
}

TEST(LoaderOnCuda, GivesARankWithoutRowsEmptyTensors) {
  if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  Loader loader(std::make_shared<testing::Numbers>(1),
                {.rank = 1, .ranks = 2, .device = at::Device(at::kCUDA, 0)});
  const Batch batch = loader.next();
  EXPECT_TRUE(batch.inputs.is_cuda());
  EXPECT_EQ(batch.inputs.sizes(), at::IntArrayRef({0, 2}));
}

}  // namespace
}  // namespace sheaf::data
