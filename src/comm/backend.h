#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/comm/group.h"

namespace sheaf::comm {

struct Reduce {
  Reduction reduction = Reduction::sum;
  double scale = 1.0;
};

/// Elements for and from each rank, in rank order.
struct Splits {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
};

/// Which ranks form a group.
struct Members {
  /// This rank's place in the group.
  int rank = 0;
  /// Each member's rank in the world; errors name these.
  std::vector<int> world_ranks;

  [[nodiscard]] int size() const { return static_cast<int>(world_ranks.size()); }
  [[nodiscard]] int world_rank() const { return world_ranks[static_cast<std::size_t>(rank)]; }
};

/// What carries data between the members of one group. Calls block until the data is there and come
/// from one thread at a time, except messages, which run beside everything else (one thread at a
/// time per peer and direction). Arguments were checked by Group.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Returns where the tensors of small internal exchanges must be.
  [[nodiscard]] virtual at::Device device() const { return at::kCPU; }
  /// Tells that calls only queue work on the current CUDA stream, so no thread has to wait for
  /// them.
  [[nodiscard]] virtual bool stream_ordered() const { return false; }

  virtual void all_reduce(const at::Tensor& tensor, Reduce reduce) = 0;
  virtual void all_gather(const at::Tensor& output, const at::Tensor& input) = 0;
  virtual void reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce reduce) = 0;
  virtual void broadcast(const at::Tensor& tensor, int root) = 0;
  virtual void all_to_all(const at::Tensor& output,
                          const at::Tensor& input,
                          const Splits& splits) = 0;
  virtual void send(const at::Tensor& tensor, int to, int tag) = 0;
  virtual void recv(const at::Tensor& tensor, int from, int tag) = 0;
  virtual void barrier() = 0;

  virtual at::Tensor shared_empty(std::int64_t numel, at::ScalarType dtype) = 0;
  /// Forms the group of `members`, some of this one. Every member of this group calls it at the
  /// same time, for the part it belongs to; `name` is the same for all members of a part and new.
  virtual std::unique_ptr<Backend> split(const Members& members, const std::string& name) = 0;
  /// Ends calls that are blocked here and at the peers, because this rank will not take part any
  /// more. Never throws.
  virtual void leave() noexcept {}
};

}  // namespace sheaf::comm
