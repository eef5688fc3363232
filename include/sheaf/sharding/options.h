#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/comm/group.h"
#include "sheaf/comm/mesh.h"
#include "sheaf/layout/buckets.h"
#include "sheaf/memory/ledger.h"
#include "sheaf/sharding/event.h"

namespace sheaf {

/// What is cut over the ranks: nothing; the optimizer's state; gradients too; parameters too.
enum class Stage { ddp, zero1, zero2, zero3 };

namespace sharding {

class ReduceHook;

/// How parameters are put together in units, which are exchanged and stepped as a whole.
/// `automatic`: bucketed, and wrap for zero3.
enum class Policy { automatic, flat, bucketed, wrap };

/// Who wakes the parameters of a unit in zero3. `touch`: the first operator that takes one of them,
/// in any model, at about a microsecond per operator. `boundary`: sheaf::forward, which costs
/// nothing per operator; a unit used outside its boundary is noticed in the first steps, named in
/// the log, and watched by touch from then on. `automatic`: boundary where a model has any, else
/// touch.
enum class Wake { automatic, touch, boundary };

/// What happens to buffers (the running means of BatchNorm) at the end of a backward pass that
/// exchanges gradients: nothing, all take rank 0's, or floating-point ones become the average.
enum class BufferSync { none, broadcast, average };

/// What a no_sync scope means in zero2 and zero3. `keep`: whole local gradients are summed up and
/// exchanged once, which costs the memory of all gradients on every rank. `reduce`: each pass is
/// reduced into the shard, which costs a reduce-scatter per pass and no memory. (In ddp and zero1
/// whole gradients are there anyway: always `keep`.)
enum class NoSync { keep, reduce };

struct PrecisionOptions {
  /// Type that parameters have in forward and backward; unset: the one they came with. The
  /// optimizer steps fp32 masters either way.
  std::optional<at::ScalarType> compute;
  /// Type that the optimizer steps: fp32, or the type of `compute`, which saves the memory of the
  /// masters and loses the digits of small steps. fp64 models keep fp64.
  at::ScalarType master = at::kFloat;
  /// Type of gradients on their way between ranks; sums over passes are kept in the master's type.
  at::ScalarType reduce = at::kFloat;
  /// Type that floating-point buffers are given; unset: as they are.
  std::optional<at::ScalarType> buffers;
};

/// Which modules become units of their own in zero3; the root takes the rest. All empty: blocks
/// claimed with fully_shard(), or else siblings of one type that repeat.
struct WrapOptions {
  /// Names of module types, such as "Block" or "torch::nn::Linear"; "Impl" at the end may be left
  /// out.
  std::vector<std::string> types;
  /// Names of modules in the model, such as "layers.0".
  std::vector<std::string> names;
  /// Modules with at least this many parameters that no module inside them has taken; 0: off.
  std::int64_t min_parameters = 0;
};

/// How a model is cut. One of `group` and `mesh` is needed; everything else has a default.
struct ShardOptions {
  std::optional<comm::Group> group;
  /// Axis "shard", and "replicate" for copies of the sharded model (hybrid sharding).
  std::optional<comm::Mesh> mesh;
  /// Where the sharded model is to live; unset: where its parameters are. A deferred model, which
  /// is always on the CPU, gets to a GPU this way.
  std::optional<at::Device> device;
  Stage stage = Stage::zero3;
  Policy policy = Policy::automatic;
  layout::BucketOptions buckets;
  WrapOptions wrap;
  PrecisionOptions precision;

  Wake wake = Wake::automatic;
  /// zero3: whether a unit's parameters are freed between forward and backward.
  bool reshard_after_forward = true;
  /// zero3: whether the next unit is gathered while one computes.
  bool prefetch = true;
  /// zero3: units gathered at once, not counting the root; at least 1, and 2 to prefetch.
  int max_gathered = 2;
  /// Whether exchanges run beside computation; without, each is waited for where it starts.
  bool overlap = true;
  /// Whether gradients of weights are computed beside the rest of backward while a step is recorded
  /// as a CUDA graph.
  bool gradients_beside = true;

  /// What every rank's gradients are multiplied with before they are summed: 1 / ranks gives the
  /// mean over ranks. The engine itself only sums.
  double gradient_scale = 1.0;
  NoSync no_sync = NoSync::keep;
  /// Whether parameters may go without a gradient. If so, those that no rank used sit out the step,
  /// for one small exchange per step; if not, they are an error that names them.
  bool find_unused = false;
  /// Whether each rank looks at its gradients before they are exchanged, so that
  /// State::non_finite_gradients() names the ranks that made bad ones. One pass over all gradients
  /// more; on a GPU the host waits for them.
  bool trace_non_finite = false;
  BufferSync buffer_sync = BufferSync::broadcast;
  /// Whether all ranks start from rank 0's parameters and buffers.
  bool broadcast_start = true;
  /// What the values of a deferred model depend on, besides the names of its parameters.
  std::uint64_t seed = 0;
  /// Leaves all parameters of units zero, for a State::load() that follows: no values are drawn or
  /// sent around, and with zero3 no unit is ever whole.
  bool starts_blank = false;
  /// Compresses gradients, or exchanges them in a way of its own.
  std::shared_ptr<ReduceHook> reduce_hook;
  /// Allows others to hold the model's parameters while they are cut; see shard().
  bool allow_outside_handles = false;

  /// Is told what the engine does, in order, on the thread that does it.
  std::function<void(const Event&)> on_event;
  /// Where the engine's memory is written down.
  memory::Ledger ledger;
};

/// What a block claimed by fully_shard() may have of its own.
struct BlockOptions {
  std::optional<bool> reshard_after_forward;
};

}  // namespace sharding

using sharding::ShardOptions;

}  // namespace sheaf
