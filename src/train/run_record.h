#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assembly.h"
#include "sheaf/train/checkpointer.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Returns, as JSON, what a run needs to go on besides its tensors: step, items, place in the data,
/// the optimizer's counts, the loss scaler, the seed that all randomness comes from; and the
/// options.
[[nodiscard]] std::string run_record(const RunOptions& options,
                                     const Assembly& parts,
                                     const TrainingState& state);

/// Puts such a record into `state`. Throws UsageError if it is of a run that cannot go on here:
/// with another optimizer or other data.
void apply_record(const std::string& record, const Assembly& parts, TrainingState& state);

/// Returns the options that change numbers and were others in that run, in words.
[[nodiscard]] std::vector<std::string> changed_options(const std::string& record,
                                                       const RunOptions& options);

/// Returns the loss of the evaluation that a checkpoint was saved with; nothing without one.
[[nodiscard]] std::optional<double> saved_evaluation(const std::string& record);

}  // namespace sheaf::train
