#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <string>

#include "backend.h"
#include "sheaf/base/units.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace sheaf::comm {

struct NcclOptions {
  c10::intrusive_ptr<c10d::Store> store;
  at::Device device = at::kCUDA;
  Seconds timeout{1800};
};

/// LibTorch's NCCL: CUDA tensors, on the stream that is current at the call. Who wants collectives
/// to overlap with compute makes them on a stream of its own.
class NcclBackend final : public Backend {
 public:
  NcclBackend(Members members, NcclOptions options);
  ~NcclBackend() override;

  [[nodiscard]] std::string_view name() const override { return "nccl"; }
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

 private:
  Members members_;
  NcclOptions options_;
  c10::intrusive_ptr<c10d::Backend> group_;
};

}  // namespace sheaf::comm
