// Gradients that are computed beside backward in a recorded step; skipped where there is no GPU.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "sharding/side_stream.h"
#include "train/cuda_graph.h"

namespace sheaf::sharding {
namespace {

constexpr std::int64_t kSize = 1 << 20;

at::TensorOptions on_cuda() { return at::TensorOptions(at::kCUDA).dtype(at::kFloat); }

class SideStreamOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
    // The default stream cannot be recorded.
    stream_.reset_stream(c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(device_));
  }

  at::Device device_{at::kCUDA, 0};

 private:
  c10::OptionalStreamGuard stream_;
};

TEST_F(SideStreamOnCuda, TakesWorkInARecordingOnly) {
  SideStream beside(device_, /*is_wanted=*/true);
  EXPECT_EQ(beside.if_recording(), nullptr);
  train::CudaGraph graph(device_);
  const at::Tensor result = at::zeros({1}, on_cuda());
  graph.record([&] {
    EXPECT_EQ(beside.if_recording(), &beside);
    result.fill_(1);
  });
}

TEST_F(SideStreamOnCuda, TakesNothingWhereItIsNotWanted) {
  SideStream beside(device_, /*is_wanted=*/false);
  train::CudaGraph graph(device_);
  const at::Tensor result = at::zeros({1}, on_cuda());
  graph.record([&] {
    EXPECT_EQ(beside.if_recording(), nullptr);
    result.fill_(1);
  });
}

TEST_F(SideStreamOnCuda, FollowsWhatWasComputedBefore) {
  SideStream beside(device_, /*is_wanted=*/true);
  train::CudaGraph graph(device_);
  const at::Tensor x = at::zeros({kSize}, on_cuda()), result = at::zeros({kSize}, on_cuda());
  graph.record([&] {
    for (int i = 0; i < 50; ++i) x.add_(1);
    beside.run([&] { result.copy_(x); }, {x});
    beside.join();
    result.add_(0.5);
  });
  graph.replay();
  EXPECT_TRUE(result.eq(50.5).all().item<bool>());
}

// Memory that is given up within a recording goes to the next who asks for as much.
TEST_F(SideStreamOnCuda, KeepsWhatItsWorkReadsUntilItIsJoined) {
  SideStream beside(device_, /*is_wanted=*/true);
  train::CudaGraph graph(device_);
  const at::Tensor busy = at::zeros({64 * kSize}, on_cuda());
  const at::Tensor result = at::zeros({kSize}, on_cuda());
  graph.record([&] {
    at::Tensor read = at::full({kSize}, 1.0, on_cuda());
    beside.run(
        [&] {
          for (int i = 0; i < 20; ++i) busy.add_(1);
          result.copy_(read);
        },
        {busy, read});
    read.reset();
    const at::Tensor other = at::full({kSize}, 2.0, on_cuda());
    beside.join();
  });
  graph.replay();
  EXPECT_TRUE(result.eq(1).all().item<bool>());
}

TEST_F(SideStreamOnCuda, LetsTheOldestGoWhenItHoldsMuch) {
  SideStream beside(device_, /*is_wanted=*/true);
  train::CudaGraph graph(device_);
  const at::Tensor first = at::ones({24 * kSize}, on_cuda());
  const at::Tensor second = at::ones({24 * kSize}, on_cuda());
  const at::Tensor third = at::ones({24 * kSize}, on_cuda());
  graph.record([&] {
    for (const at::Tensor& each : {first, second, third}) {
      beside.run([&] { each.add_(1); }, {each});
    }
    EXPECT_EQ(first.use_count(), 1U);
    EXPECT_EQ(second.use_count(), 2U);
    EXPECT_EQ(third.use_count(), 2U);
    beside.join();
    EXPECT_EQ(third.use_count(), 1U);
  });
}

TEST_F(SideStreamOnCuda, MakesAnotherStreamWaitWithoutLettingGo) {
  SideStream beside(device_, /*is_wanted=*/true);
  train::CudaGraph graph(device_);
  const at::Tensor x = at::zeros({64 * kSize}, on_cuda()), result = at::zeros({1}, on_cuda());
  const auto pool = c10::impl::VirtualGuardImpl(at::kCUDA);
  const c10::Stream third = pool.getStreamFromGlobalPool(device_);
  graph.record([&] {
    beside.run(
        [&] {
          for (int i = 0; i < 20; ++i) x.add_(1);
        },
        {x});
    c10::Event copied(at::kCUDA);
    {
      const c10::StreamGuard on_third(third);
      beside.precede_current();
      result.copy_(x.narrow(0, 0, 1));
      copied.record(third);
    }
    EXPECT_EQ(x.use_count(), 2U);
    copied.block(pool.getStream(device_));
    beside.join();
  });
  graph.replay();
  EXPECT_EQ(result.item<float>(), 20);
}

}  // namespace
}  // namespace sheaf::sharding
