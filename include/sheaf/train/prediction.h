#pragma once

#include <optional>

#include "sheaf/models/options.h"
#include "sheaf/plan/architecture.h"
#include "sheaf/plan/setting.h"
#include "sheaf/plan/ways_out.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Returns the sizes of a model that its costs depend on; nothing for classifiers, which are not
/// planned.
[[nodiscard]] std::optional<plan::Architecture> architecture_of(const models::Shape& shape);

/// Returns the type that a computation, or an exchange, has; tf32 is fp32 in memory.
[[nodiscard]] plan::Number number_of(Compute compute);
[[nodiscard]] plan::Number number_of(Reduce reduce);

/// Returns what a run's memory depends on, for plan::predict_memory(). Nothing for runs that are
/// not planned: classifiers, and units formed by shard.min_parameters. Throws UsageError for
/// options that cannot be.
[[nodiscard]] std::optional<plan::PlannedRun> planned_run(const RunOptions& options, int ranks);

}  // namespace sheaf::train
