// The backends on CUDA tensors; skipped where there is no GPU.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/gpu_watch.h"
#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::require_equal;

class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
  }
  static at::Tensor values(std::int64_t size, int rank) {
    return at::arange(size, at::kCUDA).to(at::kFloat) + rank;
  }
};

/// Runs every collective with what `group` has and checks the results.
void check_collectives(const Group& group) {
  const int n = group.size();
  const auto values = [](int rank) { return at::arange(1000, at::kCUDA).to(at::kFloat) + rank; };
  const at::Tensor sum = values(0) * n + n * (n - 1) / 2;
  const at::Tensor reduced = values(group.rank());
  group.all_reduce(reduced).wait();
  require_equal(reduced, sum, "all_reduce");
  const at::Tensor scaled = values(group.rank());
  group.all_reduce(scaled, {.scale = 0.5}).wait();
  require_equal(scaled, sum * 0.5, "scaled all_reduce");
  const at::Tensor gathered = at::empty({n, 1000}, at::kCUDA);
  group.all_gather(gathered, values(group.rank())).wait();
  for (int r = 0; r < n; ++r) require_equal(gathered[r], values(r), "all_gather");
  const at::Tensor part = at::empty({1000}, at::kCUDA);
  group.reduce_scatter(part, values(group.rank()).repeat({n}), {.reduction = Reduction::average})
      .wait();
  require_equal(part, sum / n, "reduce_scatter");
  const at::Tensor copied = values(group.rank());
  group.broadcast(copied, n - 1).wait();
  require_equal(copied, values(n - 1), "broadcast");
  const at::Tensor swapped = at::empty({n, 1000}, at::kCUDA);
  group.all_to_all(swapped, values(group.rank()).repeat({n})).wait();
  for (int r = 0; r < n; ++r) require_equal(swapped[r], values(r), "all_to_all");
  group.barrier().wait();
}

TEST_F(OnCuda, NcclRunsEveryCollectiveWithOneRank) {
  const Group group = init({.backend = BackendKind::nccl, .device = DeviceKind::cuda});
  EXPECT_EQ(group.backend(), "nccl");
  check_collectives(group);
  check_collectives(group.split(0));
}

TEST_F(OnCuda, NcclRunsOnTheCurrentStreamWithoutWaiting) {
  const Group group = init({.backend = BackendKind::nccl, .device = DeviceKind::cuda});
  const at::Device device(at::kCUDA, 0);
  const c10::Stream side =
      c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(device, true);
  const at::Tensor gathered = at::empty({1 << 22}, device);
  {
    const sheaf::testing::NoHostWaiting watch;
    const c10::StreamGuard guard(side);
    const at::Tensor counted = at::zeros({1 << 22}, device);
    // So long that a copy on another stream would come too early.
    for (int i = 0; i < 1000; ++i) counted.add_(1);
    group.all_gather(gathered, counted).wait();
    gathered.add_(1);
  }
  side.synchronize();
  require_equal(gathered, at::full({1 << 22}, 1001, device).to(at::kFloat), "all_gather");
}

TEST_F(OnCuda, AutomaticMeansNccl) {
  EXPECT_EQ(init({.device = DeviceKind::cuda}).backend(), "nccl");
}

TEST_F(OnCuda, GlooStagesThroughTheHost) {
  run_ranks(3, check_collectives, {.backend = BackendKind::gloo});
}

TEST_F(OnCuda, GlooPassesMessages) {
  run_ranks(2,
            [](const Group& group) {
              const at::Tensor received = at::empty({100}, at::kCUDA);
              Work sending = group.send(values(100, group.rank()), 1 - group.rank());
              group.recv(received, 1 - group.rank()).wait();
              sending.wait();
              require_equal(received, values(100, 1 - group.rank()), "message");
            },
            {.backend = BackendKind::gloo});
}

TEST_F(OnCuda, SharedRefusesCudaTensors) {
  EXPECT_THAT(sheaf::testing::error_of([] { init().all_reduce(values(4, 0)).wait(); }),
              ::testing::HasSubstr("the shared backend moves CPU tensors, got one on cuda:0"));
}

}  // namespace
}  // namespace sheaf::comm
