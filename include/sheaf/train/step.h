#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "sheaf/base/error.h"
#include "sheaf/comm/group.h"
#include "sheaf/data/loader.h"
#include "sheaf/models/model.h"
#include "sheaf/optim/optimizer.h"
#include "sheaf/optim/schedule.h"
#include "sheaf/sharding/loss_scaler.h"
#include "sheaf/sharding/state.h"
#include "sheaf/train/phase_clock.h"
#include "sheaf/train/profile_section.h"

namespace sheaf::train {

class StepGraph;

/// A loss or a norm of all ranks is not finite, so all of them throw this at the same step.
class Diverged : public Error {
 public:
  using Error::Error;
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override {
    return std::make_exception_ptr(Diverged(prefix + what()));
  }
};

/// What all ranks know of a step before its update.
struct StepNumbers {
  /// Counted from 1.
  std::int64_t step = 0;
  double loss = 0;
  double learning_rate_factor = 1;
  /// Whether all gradients are finite, on all ranks.
  bool finite_gradients = true;
};

/// What a step works on.
struct StepParts {
  std::shared_ptr<models::Model> model;
  sharding::State state;
  std::shared_ptr<optim::Optimizer> optimizer;
  /// All ranks that train together.
  comm::Group group;
  /// For fp16.
  std::shared_ptr<sharding::LossScaler> scaler = nullptr;
  /// Returns the signal that asks this rank to stop, 0 where none does; may be empty. One that is
  /// none of kStopSignals counts as SIGTERM.
  std::function<int()> stop_signal = {};
  /// Called before the optimizer changes anything.
  std::function<void()> before_update = nullptr;
  /// Called when the gradients are there, before anybody uses them; for drills.
  std::function<void()> gradients_ready = nullptr;
  /// Asked before the update, with the same numbers on all ranks: false leaves it out. The host
  /// then waits for the device in every step.
  std::function<bool(const StepNumbers&)> approve = nullptr;
  /// Replays steps; null: each is given to the device call by call. Not with a scaler, `approve` or
  /// `gradients_ready`, which it would not call.
  std::shared_ptr<StepGraph> graph = nullptr;
};

struct StepOptions {
  optim::ScheduleOptions schedule = {};
  /// Samples of one pass of one rank.
  std::int64_t micro_batch = 1;
  /// Largest norm of all gradients; 0: they are not clipped.
  double clip = 0;
  /// Whether parameters may be stepped within the last backward pass. They are where nothing has to
  /// know all gradients before: without clipping, a scaler, `approve` and `gradients_ready`.
  bool in_backward = false;
  /// Whether gradients that are not clipped are looked at before they are approved; one exchange.
  bool check_gradients = false;
  std::uint64_t seed = 0;
  /// Steps that are not replayed, so that a trace has their operators; counted from 1.
  std::optional<StepRange> traced = {};
};

struct StepResult {
  /// Mean over all targets of the global batch.
  double loss = 0;
  std::optional<double> gradient_norm;
  double learning_rate_factor = 1;
  bool skipped = false;
  /// Targets that count, of all ranks.
  std::int64_t targets = 0;
  /// See data::sample_hash.
  std::uint64_t sample_hash = 0;
  /// The first of kStopSignals that asks any rank to stop, the same on all; 0 where none is asked.
  int stop_signal = 0;
};

/// Takes one optimizer step. Every rank makes the same number of passes, empty ones where it has
/// fewer samples; the loss is the mean over the targets of all ranks together, so that neither
/// ranks nor micro-batches change it.
class TrainStep {
 public:
  TrainStep(StepParts parts, const StepOptions& options);

  /// start() and finish(). `step` counts from 0 and decides the learning rate and the dropout.
  StepResult run(const data::Batch& batch, std::int64_t step, PhaseClock& clock);

  /// Gives all of a step to the device, which may still be at it when this returns: the host waits
  /// for nothing, except with a loss scaler, which has to know whether to skip.
  void start(const data::Batch& batch, std::int64_t step, PhaseClock& clock);
  /// Tells whether the step that was started last is a replay of a recorded one. Then another may
  /// be started before it is finished: one, since two recordings take turns.
  [[nodiscard]] bool is_replaying() const;
  /// Waits for the oldest step that was started and returns what came of it. Throws Error if the
  /// norm of the gradients is not a number; the weights have been stepped with it and are lost.
  [[nodiscard]] StepResult finish();

 private:
  /// A step on its way; what it will tell is still on the device.
  struct Started {
    std::int64_t step = 0;
    StepResult result;
    bool is_replay = false;
    at::Tensor counts;
    at::Tensor loss_sum;
    at::Tensor gradient_norm;
    at::Tensor outcome;
    /// Reached when the host has counts, norm and outcome; null where they were never elsewhere.
    std::shared_ptr<const Stamp> told;
  };

  [[nodiscard]] at::Tensor count(const data::Batch& batch) const;
  [[nodiscard]] at::Tensor forward(const data::Batch& batch,
                                   std::int64_t begin,
                                   std::int64_t step) const;
  void backward(const at::Tensor& loss, const at::Tensor& scale) const;
  [[nodiscard]] at::Tensor compute_gradients(const data::Batch& batch,
                                             const at::Tensor& counts,
                                             const std::function<void(Phase)>& mark,
                                             const std::function<void()>& before_last) const;
  void start_now(const data::Batch& batch, PhaseClock& clock);
  [[nodiscard]] bool start_replay(const data::Batch& batch, PhaseClock& clock);
  [[nodiscard]] bool steps_in_backward() const;
  [[nodiscard]] at::Tensor outcome(bool is_finite) const;
  [[nodiscard]] at::Tensor clip_scale(const at::Tensor& norm) const;
  [[nodiscard]] bool has_finite_gradients() const;
  [[nodiscard]] bool is_approved();
  void tell_host();

  StepParts parts_;
  StepOptions options_;
  /// The one that is being started.
  Started started_;
  std::deque<Started> under_way_;
};

}  // namespace sheaf::train
