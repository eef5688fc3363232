#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/memory/ledger.h"
#include "sheaf/optim/slot.h"

namespace torch::nn {
class Module;
}

namespace sheaf::sharding {

class Engine;

using NamedTensors = std::map<std::string, at::Tensor>;

/// The part of a parameter that this rank steps.
struct Slice {
  std::string name;
  /// Other names of the same parameter.
  std::vector<std::string> aliases;
  /// Shape of the whole parameter.
  std::vector<std::int64_t> shape;
  /// Where the part begins in the flattened parameter.
  std::int64_t begin = 0;
  /// Its values: flat, the master's own memory.
  at::Tensor values;
};

/// What a unit is made of.
struct UnitInfo {
  std::string name;
  /// Names of its parameters.
  std::vector<std::string> parameters;
  std::int64_t num_elements = 0;
  /// Elements added so that it can be cut evenly.
  std::int64_t num_padding = 0;
};

struct NonFinite {
  std::string parameter;
  /// The rank that made it; or, if not `made_there`, the one in the group over which the model is
  /// cut that keeps a part of the sum which is not finite.
  int rank = 0;
  /// Known with ShardOptions::trace_non_finite, unless the sum alone is not finite.
  bool made_there = false;
};

/// Whole parameters, for as long as it lives. See State::summon().
class [[nodiscard]] Summoned {
 public:
  Summoned(std::shared_ptr<Engine> engine, std::vector<std::size_t> units, bool write);
  Summoned(Summoned&&) = default;
  Summoned& operator=(Summoned&&) = delete;
  ~Summoned();

 private:
  std::shared_ptr<Engine> engine_;
  std::vector<std::size_t> units_;
  bool write_;
};

/// Backward passes within its life keep their gradients local. See NoSync for what that means.
class [[nodiscard]] NoSyncScope {
 public:
  explicit NoSyncScope(std::shared_ptr<Engine> engine);
  NoSyncScope(NoSyncScope&&) = default;
  NoSyncScope& operator=(NoSyncScope&&) = delete;
  ~NoSyncScope();

 private:
  std::shared_ptr<Engine> engine_;
};

/// Returns what clip_gradients() multiplies gradients of this norm with, shaped and placed as the
/// norm. An optimizer that gets it as its gradient_scale clips without a pass over the gradients.
[[nodiscard]] at::Tensor clip_factor(const at::Tensor& norm, double max_norm);

/// A sharded model's training state. A cheap value: copies are the same state. The model can be
/// used while one of them, or an optimizer over slots(), lives.
///
/// After a backward pass that failed on all ranks the model can be used on; the gradients of the
/// step so far are lost.
class State {
 public:
  explicit State(std::shared_ptr<Engine> engine);

  /// Returns what sheaf's own optimizers step.
  [[nodiscard]] optim::Slots slots() const;
  /// Returns what an element-wise torch::optim optimizer can step: per parameter the part that this
  /// rank keeps, flat and possibly empty; with ddp in one precision the model's own parameters.
  [[nodiscard]] std::vector<at::Tensor> parameters() const;
  /// The same with names.
  [[nodiscard]] std::vector<Slice> slices() const;
  /// Returns the parts of all parameters, frozen ones too, that this rank keeps: in an order that
  /// all ranks have in common, some of them empty.
  [[nodiscard]] std::vector<Slice> kept_slices() const;
  /// Returns parts of all parameters, frozen ones too, so that every element is on one rank alone:
  /// what each rank has to write when the ranks save a model together.
  [[nodiscard]] std::vector<Slice> owned_slices() const;
  /// Returns the model's buffers themselves, to read or, on all ranks alike, to write.
  [[nodiscard]] NamedTensors buffers() const;
  [[nodiscard]] std::vector<UnitInfo> units() const;

  /// Scales all gradients so that their global norm is at most `max_norm`; returns the norm before,
  /// a scalar on the parameters' device. One exchange (none with ddp).
  at::Tensor clip_gradients(double max_norm) const;
  /// Returns the global norm of all gradients, fp64, a scalar on the parameters' device. One
  /// exchange (none with ddp); waits for nothing on a GPU.
  [[nodiscard]] at::Tensor gradient_norm() const;
  /// Multiplies all gradients with `factor`, unless one of them is not finite on any rank: then
  /// they stay as they are, and all ranks return false. One exchange.
  [[nodiscard]] bool multiply_gradients(double factor) const;
  /// Forgets the gradients. sheaf's optimizers do it at the end of a step.
  void zero_gradients() const;
  [[nodiscard]] NoSyncScope no_sync() const;
  /// Looks for gradients that are infinite or not a number, on all ranks. One exchange, or two
  /// where they are traced.
  [[nodiscard]] std::vector<NonFinite> non_finite_gradients() const;

  /// Makes the parameters below `module` whole and readable in any way; with `write`, what was
  /// written into them is kept (every rank must write the same). All ranks must call it, and end
  /// it, together; not between forward and backward.
  Summoned summon(const torch::nn::Module& module, bool write = false) const;
  /// Returns all parameters in full, as the optimizer sees them, and all buffers, on the CPU; with
  /// `everywhere` false only rank 0 gets them. Goes unit by unit. All ranks must call it.
  [[nodiscard]] NamedTensors gather_full(bool everywhere = true) const;
  /// Replaces all parameters and buffers by rank 0's `values`; others may pass nothing. All ranks
  /// must call it. Throws UsageError if a name is missing or unknown or a shape differs, and then
  /// nothing has changed.
  void load_full(const NamedTensors& values) const;

  /// Replaces all parameters, frozen ones too: `fill` writes the values of each part that this rank
  /// keeps, straight into its memory. Then what follows from them, whole parameters and low
  /// precision, is brought up to date. Nothing is gathered, and buffers stay as they are. All ranks
  /// must call it.
  void load(const std::function<void(const Slice&)>& fill) const;

  [[nodiscard]] const memory::Ledger& ledger() const;

 private:
  std::shared_ptr<Engine> engine_;
};

}  // namespace sheaf::sharding
