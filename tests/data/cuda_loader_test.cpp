// Batches on a GPU; skipped where there is none.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
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
