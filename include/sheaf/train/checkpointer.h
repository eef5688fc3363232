#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sheaf/data/order.h"
#include "sheaf/optim/optimizer.h"
#include "sheaf/sharding/loss_scaler.h"
#include "sheaf/sharding/state.h"

namespace sheaf::train {

/// Everything a run needs to go on where it stopped.
struct TrainingState {
  sharding::State model;
  std::shared_ptr<optim::Optimizer> optimizer;
  /// Null without loss scaling.
  std::shared_ptr<sharding::LossScaler> scaler;
  /// Optimizer steps that are done.
  std::int64_t step = 0;
  /// Where the next batch begins.
  data::Position position;
  /// Tokens or images that these steps have learned from.
  std::int64_t items = 0;
  /// Loss of the evaluation after the last step; unset where there was none.
  std::optional<double> evaluation_loss;
};

/// Saves and restores a run. Every rank has one, and all are called together.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;

  /// Puts the newest saved state into `state` and returns true; false where there is none. Called
  /// once, before the first step.
  [[nodiscard]] virtual bool restore(TrainingState& state) = 0;
  /// A step is over; saves if it is time. `last` marks the end of the run, also an early one: what
  /// cannot be saved then is thrown, by all ranks alike.
  virtual void step_done(const TrainingState& state, bool last) = 0;
  /// Tells whether step_done() may save after this step; else it may be called with the next step
  /// under way already.
  [[nodiscard]] virtual bool is_due(std::int64_t /*step*/) const { return true; }
  /// The optimizer is about to change what the last step_done() was given; what is still needed of
  /// it must be copied before this returns.
  virtual void before_update() {}
  /// Ends a save that is under way, where the run cannot go on; never fails because of the disk.
  virtual void finish() {}
};

}  // namespace sheaf::train
