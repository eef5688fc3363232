// What a recording leaves behind that fails; skipped where there is no GPU.
#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "comm/priority_stream.h"
#include "sharding/pending.h"
#include "sharding/updates.h"
#include "sheaf/base/error.h"
#include "train/cuda_graph.h"

namespace sheaf::sharding {
namespace {

class FailedRecordingOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "there is no CUDA device";
    stream_.reset_stream(comm::priority_stream(device_, comm::StreamPriority::first));
    x_ = at::zeros({1024}, at::kCUDA);
  }

  /// Records `body`, then fails.
  void fail_after(const std::function<void()>& body) {
    train::CudaGraph graph(device_);
    const auto fail = [&] {
      body();
      throw Error("enough");
    };
    EXPECT_THROW(graph.record(fail), Error);
  }
  /// Expects that the GPU goes on as if nothing had been recorded.
  void expect_work() { EXPECT_EQ(x_.add_(1).sum().item<float>(), 1024); }

  at::Device device_{at::kCUDA, 0};
  at::Tensor x_;

 private:
  c10::OptionalStreamGuard stream_;
};

TEST_F(FailedRecordingOnCuda, LeavesNoExchangeToWaitFor) {
  const ExchangeStream exchanges(device_, Recorder());
  const auto exchange = [&] {
    x_.add_(1);
    return comm::Work();
  };
  Pending waited, dropped;
  fail_after([&] {
    waited = exchanges.issue(exchange);
    dropped = exchanges.issue(exchange);
  });
  EXPECT_NO_THROW(waited.wait());
  dropped = Pending();
  expect_work();
}

TEST_F(FailedRecordingOnCuda, LeavesNoStepToWaitFor) {
  Updates updates(device_);
  fail_after([&] { updates.run_beside([&] { x_.add_(1); }); });
  EXPECT_NO_THROW(updates.join());
  expect_work();
}

}  // namespace
}  // namespace sheaf::sharding
