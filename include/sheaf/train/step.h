#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "sheaf/comm/group.h"
#include "sheaf/data/loader.h"
#include "sheaf/models/model.h"
#include "sheaf/optim/optimizer.h"
#include "sheaf/optim/schedule.h"
#include "sheaf/sharding/loss_scaler.h"
#include "sheaf/sharding/state.h"
#include "sheaf/train/phase_clock.h"

namespace sheaf::train {

/// What a step works on.
struct StepParts {
  std::shared_ptr<models::Model> model;
  sharding::State state;
  std::shared_ptr<optim::Optimizer> optimizer;
  /// All ranks that train together.
  comm::Group group;
  /// For fp16.
  std::shared_ptr<sharding::LossScaler> scaler = nullptr;
};

struct StepOptions {
  optim::ScheduleOptions schedule = {};
  /// Samples of one pass of one rank.
  std::int64_t micro_batch = 1;
  /// Largest norm of all gradients; 0: they are not clipped.
  double clip = 0;
  std::uint64_t seed = 0;
};

/// What all ranks have to know of a global batch before they compute.
struct BatchTotals {
  /// Targets that count, of all ranks.
  std::int64_t targets = 0;
  /// See data::sample_hash.
  std::uint64_t sample_hash = 0;
  /// The signal that asks any rank to stop; 0 where none is asked.
  int stop_signal = 0;
};

struct StepResult {
  /// Mean over all targets of the global batch.
  double loss = 0;
  std::optional<double> gradient_norm;
  double learning_rate_factor = 1;
  bool skipped = false;
};

/// Counts a batch over all ranks, in one small exchange.
[[nodiscard]] BatchTotals count_batch(const data::Batch& batch,
                                      int stop_signal,
                                      const comm::Group& group);

/// Takes one optimizer step. Every rank makes the same number of passes, empty ones where it has
/// fewer samples; the loss is the mean over the targets of all ranks together, so that neither
/// ranks nor micro-batches change it.
class TrainStep {
 public:
  TrainStep(StepParts parts, const StepOptions& options);

  /// `step` counts from 0 and decides the learning rate and the dropout. Throws Error, with the
  /// weights as they were, if the norm of the gradients is not a number.
  StepResult run(const data::Batch& batch,
                 const BatchTotals& totals,
                 std::int64_t step,
                 PhaseClock& clock);

 private:
  [[nodiscard]] at::Tensor forward(const data::Batch& batch,
                                   std::int64_t begin,
                                   std::int64_t step) const;
  void backward(const at::Tensor& loss, double scale) const;
  [[nodiscard]] std::optional<double> clip(std::int64_t step) const;
  [[nodiscard]] double mean_loss(const at::Tensor& sum, std::int64_t targets) const;

  StepParts parts_;
  StepOptions options_;
};

}  // namespace sheaf::train
