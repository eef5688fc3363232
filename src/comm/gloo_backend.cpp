#include "gloo_backend.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "compat.h"
#include "no_sigpipe.h"
#include "reduce_kernel.h"
#include "sheaf/base/error.h"
#include "store/client.h"

namespace sheaf::comm {
namespace {

/// Returns the same memory, flat, as a type that gloo can move.
at::Tensor movable(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.dim() == 1 ? tensor : tensor.view({-1});
  return is_reducible(tensor.scalar_type()) ? flat : flat.view(at::kByte);
}

/// Gloo works on host memory; a CUDA tensor is copied there and back.
class OnHost {
 public:
  explicit OnHost(const at::Tensor& tensor)
      : original_(tensor), host_(tensor.device().is_cpu() ? tensor : tensor.cpu()) {}
  [[nodiscard]] at::Tensor& tensor() { return host_; }
  void copy_back() {
    if (!host_.is_same(original_)) original_.copy_(host_);
  }

 private:
  at::Tensor original_;
  at::Tensor host_;
};

c10d::ReduceOp to_c10d(Reduction reduction) {
  switch (reduction) {
    case Reduction::max:
      return c10d::ReduceOp::MAX;
    case Reduction::min:
      return c10d::ReduceOp::MIN;
    default:
      return c10d::ReduceOp::SUM;
  }
}

/// Returns where the others reach this rank: on one host nowhere else than here; between hosts on
/// the interface that leads to the store, unless that is one which they cannot use.
std::string host_of(const GlooOptions& options) {
  if (options.peers->one_host()) return "127.0.0.1";
  std::string host = store::own_host(options.store);
  return host.starts_with("127.") || host == "::1" ? "" : host;
}

/// Says which ranks are gone, as the store knows it; nothing if none is. The store also remembers
/// those of generations before, which are other processes.
std::string lost_ranks(const GlooOptions& options) {
  std::string list;
  const std::vector<std::string> lost = store::lost_joiners(options.store);
  for (int rank = 0; rank < options.peers->size(); ++rank) {
    const std::string name = options.peers->identity(rank).describe(rank);
    if (std::ranges::find(lost, name) != lost.end()) list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

/// Returns what is known of a call that failed though all ranks of this host are there.
CommError explained(const GlooOptions& options, Kind kind, const std::exception& error) try {
  const std::string lost = lost_ranks(options);
  if (!lost.empty()) {
    return CommError(fmt::format(
        "gone during {}, with their machine or the network to it: {}", comm::name(kind), lost));
  }
  const std::string text = error.what();
  return CommError(fmt::format("{} failed between hosts, though all ranks reach the store: {}",
                               comm::name(kind),
                               text.substr(0, text.find('\n'))));
} catch (const CommError& gone) {
  return CommError(
      fmt::format("{} failed, and the machine of rank 0 or the network to it is gone: {}",
                  comm::name(kind),
                  gone.what()));
}

}  // namespace

GlooBackend::GlooBackend(Members members, GlooOptions options)
    : members_(std::move(members)),
      options_(std::move(options)),
      group_(compat::gloo({.store = options_.store,
                           .rank = members_.rank,
                           .size = members_.size(),
                           .timeout = options_.timeout},
                          host_of(options_))) {}

GlooBackend::~GlooBackend() = default;

/// Makes a call and waits for it. Gloo does not say which peer is gone; the process handles do, and
/// the store for those of other hosts.
template <class Call>
void GlooBackend::run(Kind kind, Call call) {
  const NoSigpipe while_it_writes;
  try {
    call(*group_)->wait();
  } catch (const std::exception& error) {
    // A dying process closes its sockets a little before it counts as ended.
    constexpr std::chrono::milliseconds kPatience{500};
    if (const auto ended = options_.peers->find_ended(members_.world_ranks, kPatience)) {
      throw CommError(
          fmt::format("{} ended during {}", options_.peers->describe(*ended), comm::name(kind)));
    }
    if (options_.peers->one_host()) throw;
    throw explained(options_, kind, error);
  }
}

void GlooBackend::all_reduce(const at::Tensor& tensor, Reduce how) {
  check_reducible(tensor.scalar_type());
  OnHost host(tensor);
  if (how.scale != 1.0) host.tensor().mul_(how.scale);
  std::vector<at::Tensor> tensors = {host.tensor()};
  c10d::AllreduceOptions options;
  options.reduceOp = to_c10d(how.reduction);
  run(Kind::all_reduce, [&](c10d::Backend& group) { return group.allreduce(tensors, options); });
  if (how.reduction == Reduction::average) host.tensor().div_(members_.size());
  host.copy_back();
}

void GlooBackend::all_gather(const at::Tensor& output, const at::Tensor& input) {
  OnHost to(output);
  OnHost from(input);
  at::Tensor to_flat = movable(to.tensor());
  at::Tensor from_flat = movable(from.tensor());
  run(Kind::all_gather,
      [&](c10d::Backend& group) { return group._allgather_base(to_flat, from_flat); });
  to.copy_back();
}

/// LibTorch's own reduce-scatter over gloo is an all-reduce of everything. Exchanging the parts and
/// adding them here, in rank order, moves half as much and does not depend on timing.
void GlooBackend::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce how) {
  check_reducible(input.scalar_type());
  OnHost to(output);
  OnHost from(input);
  at::Tensor parts = at::empty_like(from.tensor());
  const auto size = static_cast<std::size_t>(members_.size());
  const std::vector<std::int64_t> equal(size, output.numel());
  all_to_all(parts.view({-1}), movable(from.tensor()), {equal, equal});
  std::vector<const std::byte*> inputs;
  for (std::size_t r = 0; r < size; ++r) {
    inputs.push_back(static_cast<const std::byte*>(parts.const_data_ptr()) + r * output.nbytes());
  }
  auto* result = static_cast<std::byte*>(to.tensor().mutable_data_ptr());
  reduce({&result, 1}, inputs, output.numel(), input.scalar_type(), how);
  to.copy_back();
}

void GlooBackend::broadcast(const at::Tensor& tensor, int root) {
  OnHost host(tensor);
  std::vector<at::Tensor> tensors = {movable(host.tensor())};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  run(Kind::broadcast, [&](c10d::Backend& group) { return group.broadcast(tensors, options); });
  host.copy_back();
}

void GlooBackend::all_to_all(const at::Tensor& output,
                             const at::Tensor& input,
                             const Splits& splits) {
  OnHost to(output);
  OnHost from(input);
  at::Tensor to_flat = movable(to.tensor());
  at::Tensor from_flat = movable(from.tensor());
  std::vector<std::int64_t> to_splits = splits.output;
  std::vector<std::int64_t> from_splits = splits.input;
  const std::int64_t width = input.element_size() / from_flat.element_size();
  for (std::int64_t& count : to_splits) count *= width;
  for (std::int64_t& count : from_splits) count *= width;
  run(Kind::all_to_all, [&](c10d::Backend& group) {
    return group.alltoall_base(to_flat, from_flat, to_splits, from_splits);
  });
  to.copy_back();
}

void GlooBackend::send(const at::Tensor& tensor, int to, int tag) {
  OnHost host(tensor);
  std::vector<at::Tensor> tensors = {movable(host.tensor())};
  run(Kind::send, [&](c10d::Backend& group) { return group.send(tensors, to, tag); });
}

void GlooBackend::recv(const at::Tensor& tensor, int from, int tag) {
  OnHost host(tensor);
  std::vector<at::Tensor> tensors = {movable(host.tensor())};
  run(Kind::recv, [&](c10d::Backend& group) { return group.recv(tensors, from, tag); });
  host.copy_back();
}

void GlooBackend::barrier() {
  run(Kind::barrier, [](c10d::Backend& group) { return group.barrier(); });
}

at::Tensor GlooBackend::shared_empty(std::int64_t numel, at::ScalarType dtype) {
  return at::empty({numel}, dtype);
}

std::unique_ptr<Backend> GlooBackend::split(const Members& members, const std::string& name) {
  GlooOptions options = options_;
  options.store = compat::prefixed(name, options_.store);
  auto part = std::make_unique<GlooBackend>(members, std::move(options));
  // Whoever serves the store may go only after all have connected.
  barrier();
  return part;
}

}  // namespace sheaf::comm
