#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sheaf/base/recorder.h"
#include "sheaf/comm/traffic.h"
#include "sheaf/comm/work.h"

namespace sheaf::comm {

class GroupState;

enum class Reduction { sum, average, max, min };

struct ReduceOptions {
  Reduction reduction = Reduction::sum;
  /// Every rank's values are multiplied by this before they are added up; sum only.
  double scale = 1.0;
  Purpose purpose = Purpose::other;
  /// The unit it is for, as the recorder is to name it.
  std::string_view unit = {};
};

struct MoveOptions {
  Purpose purpose = Purpose::other;
  std::string_view unit = {};
};

struct MessageOptions {
  /// Names the message: a receiver that expects another tag gets an error, not a wrong tensor.
  int tag = 0;
  Purpose purpose = Purpose::other;
};

struct AllToAllOptions {
  /// Elements for (from) each rank, in rank order; both empty: equal parts.
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
  Purpose purpose = Purpose::other;
};

/// Some ranks that call the same collectives in the same order. A cheap value: copies are the same
/// group, which lives as long as one of them.
///
/// Tensors must be contiguous. A call returns at once; Work::wait() gives the result and the
/// errors. Calls on one group run in the order they were made; messages between two ranks arrive in
/// the order they were sent.
class Group {
 public:
  explicit Group(std::shared_ptr<GroupState> state);

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// Names what carries the data: gloo, nccl, shared, one_gpu or fake.
  [[nodiscard]] std::string_view backend() const;
  /// Returns where tensors of small exchanges can always be: the CPU, or the GPU of backends that
  /// move nothing else.
  [[nodiscard]] at::Device device() const;
  /// Returns the rank in the world that each member has, in group order.
  [[nodiscard]] const std::vector<int>& world_ranks() const;

  /// Reduces `tensor` over all ranks, in place.
  Work all_reduce(const at::Tensor& tensor, const ReduceOptions& options = {}) const;
  /// Joins every rank's `input` into `output`, in rank order. `input` may be this rank's own part
  /// of `output`.
  Work all_gather(const at::Tensor& output,
                  const at::Tensor& input,
                  const MoveOptions& options = {}) const;
  /// Reduces `input` over all ranks and leaves part `rank()` of it in `output`, which may be that
  /// part of `input` itself; the other parts of `input` then have unspecified values.
  Work reduce_scatter(const at::Tensor& output,
                      const at::Tensor& input,
                      const ReduceOptions& options = {}) const;
  /// Copies `tensor` from rank `root` to all others.
  Work broadcast(const at::Tensor& tensor, int root, const MoveOptions& options = {}) const;
  /// Sends part i of `input` to rank i, and receives part i of `output` from it.
  Work all_to_all(const at::Tensor& output,
                  const at::Tensor& input,
                  const AllToAllOptions& options = {}) const;
  Work send(const at::Tensor& tensor, int to, const MessageOptions& options = {}) const;
  Work recv(const at::Tensor& tensor, int from, const MessageOptions& options = {}) const;
  Work barrier() const;

  /// Forms smaller groups: ranks that give the same `color` share one, ordered as here. Every rank
  /// must call it; blocks until the new group is ready.
  [[nodiscard]] Group split(int color) const;
  /// The same where every rank knows everybody's color, in rank order.
  [[nodiscard]] Group split(const std::vector<int>& colors) const;

  /// Returns an uninitialised tensor that the other ranks can reach, which makes collectives on it
  /// nearly copy-free. Every rank must call it with the same arguments. Where the backend has no
  /// such memory it is an ordinary tensor.
  [[nodiscard]] at::Tensor shared_empty(std::int64_t numel, at::ScalarType dtype) const;

  /// Counts every call of this group and of the groups split from it.
  [[nodiscard]] Traffic traffic() const;
  /// Counts exchanges once more that a CUDA graph has repeated without calling this.
  void count_again(const Traffic& repeated) const;
  /// Records, while somebody listens, every call of this group and of the groups split from it, and
  /// who waited for one. It is this rank's: whoever works for the rank may record more with it.
  [[nodiscard]] Recorder recorder() const;

 private:
  std::shared_ptr<GroupState> state_;
};

}  // namespace sheaf::comm
