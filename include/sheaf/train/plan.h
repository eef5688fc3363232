#pragma once

#include <cstdint>

#include "sheaf/data/dataset.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// What follows from the options, the data and the number of ranks.
struct RunPlan {
  std::int64_t steps = 0;
  /// Passes that each rank makes per step, the last of which exchanges gradients.
  std::int64_t accumulation = 1;
  /// Samples of one pass of one rank, at most.
  std::int64_t micro_batch = 1;
  /// Whether the last step of an epoch takes what is left of it; otherwise a step goes on into the
  /// next epoch.
  bool partial_batches = false;
  /// One that has no length of its own lasts as long as the run.
  optim::ScheduleOptions schedule = {};
};

/// Throws UsageError for a batch that the ranks cannot share as asked, for a run without a length,
/// with several or of more than kMost steps, and for a schedule or steps to record that do not fit
/// into it.
[[nodiscard]] RunPlan plan_run(const RunOptions& options, const data::Dataset& dataset, int ranks);

}  // namespace sheaf::train
