#include "nccl_backend.h"

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "compat.h"
#include "sheaf/base/log.h"

namespace sheaf::comm {
namespace {

c10d::ReduceOp to_c10d(Reduce how) {
  switch (how.reduction) {
    case Reduction::max:
      return c10d::ReduceOp::MAX;
    case Reduction::min:
      return c10d::ReduceOp::MIN;
    case Reduction::average:
      return c10d::ReduceOp::AVG;
    case Reduction::sum:
      break;
  }
  return how.scale == 1.0 ? c10d::ReduceOp(c10d::ReduceOp::SUM)
                          : c10d::makeNCCLPreMulSum(how.scale);
}

/// Calls on the current stream return no work to wait for; messages do, and waiting only makes the
/// current stream wait.
void order(const c10::intrusive_ptr<c10d::Work>& work) {
  if (work) work->wait();
}

}  // namespace

NcclBackend::NcclBackend(Members members, NcclOptions options)
    : members_(std::move(members)),
      options_(std::move(options)),
      group_(compat::nccl({.store = options_.store,
                           .rank = members_.rank,
                           .size = members_.size(),
                           .timeout = options_.timeout},
                          options_.device)) {}

NcclBackend::~NcclBackend() {
  try {
    group_->shutdown();
  } catch (const std::exception& error) {
    log::warning("comm", std::string("nccl did not shut down: ") + error.what());
  }
}

void NcclBackend::all_reduce(const at::Tensor& tensor, Reduce how) {
  std::vector<at::Tensor> tensors = {tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = to_c10d(how);
  options.asyncOp = false;
  order(group_->allreduce(tensors, options));
}

void NcclBackend::all_gather(const at::Tensor& output, const at::Tensor& input) {
  at::Tensor to = output.view({-1});
  at::Tensor from = input.view({-1});
  c10d::AllgatherOptions options;
  options.asyncOp = false;
  order(group_->_allgather_base(to, from, options));
}

void NcclBackend::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce how) {
  at::Tensor to = output.view({-1});
  at::Tensor from = input.view({-1});
  c10d::ReduceScatterOptions options;
  options.reduceOp = to_c10d(how);
  options.asyncOp = false;
  order(group_->_reduce_scatter_base(to, from, options));
}

void NcclBackend::broadcast(const at::Tensor& tensor, int root) {
  std::vector<at::Tensor> tensors = {tensor};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  options.asyncOp = false;
  order(group_->broadcast(tensors, options));
}

void NcclBackend::all_to_all(const at::Tensor& output,
                             const at::Tensor& input,
                             const Splits& splits) {
  at::Tensor to = output.view({-1});
  at::Tensor from = input.view({-1});
  std::vector<std::int64_t> to_splits = splits.output;
  std::vector<std::int64_t> from_splits = splits.input;
  c10d::AllToAllOptions options;
  options.asyncOp = false;
  order(group_->alltoall_base(to, from, to_splits, from_splits, options));
}

void NcclBackend::send(const at::Tensor& tensor, int to, int tag) {
  std::vector<at::Tensor> tensors = {tensor};
  order(group_->send(tensors, to, tag));
}

void NcclBackend::recv(const at::Tensor& tensor, int from, int tag) {
  std::vector<at::Tensor> tensors = {tensor};
  order(group_->recv(tensors, from, tag));
}

/// Everybody has arrived when the host goes on, as with the other backends.
void NcclBackend::barrier() {
  const at::Tensor token = at::zeros({1}, at::TensorOptions(options_.device).dtype(at::kFloat));
  all_reduce(token, {});
  static_cast<void>(token.item());
}

at::Tensor NcclBackend::shared_empty(std::int64_t numel, at::ScalarType dtype) {
  return at::empty({numel}, at::TensorOptions(options_.device).dtype(dtype));
}

std::unique_ptr<Backend> NcclBackend::split(const Members& members, const std::string& name) {
  NcclOptions options = options_;
  options.store = compat::prefixed(name, options_.store);
  auto part = std::make_unique<NcclBackend>(members, std::move(options));
  barrier();
  return part;
}

}  // namespace sheaf::comm
