#pragma once

#include "backend.h"

namespace sheaf::comm {

/// Ranks that do not exist: every call returns at once and nothing leaves this process. All-gather
/// and reduce-scatter fill their output as if every rank held what this one holds, unreduced.
class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(Members members) : members_(std::move(members)) {}

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  void all_reduce(const at::Tensor&, Reduce) override {}
  void all_gather(const at::Tensor& output, const at::Tensor& input) override;
  void reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce) override;
  void broadcast(const at::Tensor&, int) override {}
  void all_to_all(const at::Tensor&, const at::Tensor&, const Splits&) override {}
  void send(const at::Tensor&, int, int) override {}
  void recv(const at::Tensor&, int, int) override {}
  void barrier() override {}
  at::Tensor shared_empty(std::int64_t numel, at::ScalarType dtype) override;
  std::unique_ptr<Backend> split(const Members& members, const std::string& name) override;

 private:
  Members members_;
};

}  // namespace sheaf::comm
