#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "comm/backend.h"

namespace sheaf::bench {

/// How slow the network is made, and how long it has slept; seen by the lane's thread.
struct Slowness {
  std::atomic<std::int64_t> delay_ms = 0;
  std::atomic<std::int64_t> sleeps = 0;
};

/// Another group's collectives, each after a sleep: a network with a latency that costs no
/// processor time.
class SlowBackend final : public comm::Backend {
 public:
  SlowBackend(comm::Group group, std::shared_ptr<Slowness> slowness)
      : group_(std::move(group)), slowness_(std::move(slowness)) {}

  [[nodiscard]] std::string_view name() const override { return "slow"; }
  void all_reduce(const at::Tensor& tensor, comm::Reduce reduce) override;
  void all_gather(const at::Tensor& output, const at::Tensor& input) override;
  void reduce_scatter(const at::Tensor& output,
                      const at::Tensor& input,
                      comm::Reduce reduce) override;
  void broadcast(const at::Tensor& tensor, int root) override;
  void all_to_all(const at::Tensor& output,
                  const at::Tensor& input,
                  const comm::Splits& splits) override;
  void send(const at::Tensor& tensor, int to, int tag) override;
  void recv(const at::Tensor& tensor, int from, int tag) override;
  void barrier() override;
  at::Tensor shared_empty(std::int64_t numel, at::ScalarType dtype) override;
  std::unique_ptr<Backend> split(const comm::Members& members, const std::string& name) override;

 private:
  void sleep();

  comm::Group group_;
  std::shared_ptr<Slowness> slowness_;
};

/// Returns a group of the same ranks that is as slow as `slowness` says at the time of each call.
[[nodiscard]] comm::Group slow_group(const comm::Group& group, std::shared_ptr<Slowness> slowness);

}  // namespace sheaf::bench
