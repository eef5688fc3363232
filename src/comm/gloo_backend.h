#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <string>

#include "backend.h"
#include "peers.h"
#include "sheaf/base/units.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace sheaf::comm {

/// What a group needs to form smaller ones.
struct GlooOptions {
  c10::intrusive_ptr<c10d::Store> store;
  std::shared_ptr<const Peers> peers;
  Seconds timeout{1800};
};

/// LibTorch's gloo: sockets, between hosts or on one. CUDA tensors are staged through host memory.
class GlooBackend final : public Backend {
 public:
  /// Connects all members; every one calls it.
  GlooBackend(Members members, GlooOptions options);
  ~GlooBackend() override;

  [[nodiscard]] std::string_view name() const override { return "gloo"; }
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
  template <class Call>
  void run(Kind kind, Call call);

  Members members_;
  GlooOptions options_;
  c10::intrusive_ptr<c10d::Backend> group_;
};

}  // namespace sheaf::comm
