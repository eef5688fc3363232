#pragma once

#include <memory>
#include <string>

#include "../backend.h"
#include "channels.h"
#include "join.h"
#include "turns.h"
#include "watch.h"

namespace sheaf::comm::one_gpu {

/// Ranks that are processes on one GPU and exchange data in its memory, which NCCL refuses to do.
/// Calls only queue work: kernels that read the peers' memory, and marks by which streams wait for
/// each other. Sums are taken in rank order, so every rank gets the same bits.
class OneGpuBackend final : public Backend {
 public:
  /// `host` connects the same ranks and is used at the start, to split and for barriers.
  OneGpuBackend(std::shared_ptr<Backend> host, JoinOptions options);
  ~OneGpuBackend() override;

  [[nodiscard]] std::string_view name() const override { return "one_gpu"; }
  [[nodiscard]] at::Device device() const override { return options_.device; }
  [[nodiscard]] bool stream_ordered() const override { return true; }

  void all_reduce(const at::Tensor& tensor, Reduce reduce) override;
  void all_gather(const at::Tensor& output, const at::Tensor& input) override;
  void reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce reduce) override;
  void broadcast(const at::Tensor& tensor, int root) override;
  void all_to_all(const at::Tensor& output, const at::Tensor& input, const Splits& splits) override;
  void send(const at::Tensor& tensor, int to, int tag) override;
  void recv(const at::Tensor& tensor, int from, int tag) override;
  void barrier() override;
  at::Tensor shared_empty(std::int64_t numel, at::ScalarType dtype) override;
  std::unique_ptr<Backend> split(const Members& members, const std::string& name) override;
  void leave() noexcept override;

 private:
  [[nodiscard]] int rank() const { return options_.members.rank; }
  [[nodiscard]] int size() const { return options_.members.size(); }
  void check_device(const at::Tensor& tensor) const;
  void all_reduce_at_once(const at::Tensor& tensor, Reduce reduce);
  void all_reduce_in_shares(const at::Tensor& tensor, Reduce reduce);
  [[nodiscard]] std::int64_t longest_run(const Splits& splits) const;

  std::shared_ptr<Backend> host_;
  JoinOptions options_;
  std::shared_ptr<Words> words_;
  Watch watch_;
  Turns turns_;
  Channels channels_;
};

}  // namespace sheaf::comm::one_gpu
