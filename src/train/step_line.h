#pragma once

#include <string>

#include "sheaf/train/record.h"
#include "sheaf/train/tracker.h"

namespace sheaf::train {

/// Returns one step as a line of columns that stand under each other, without a newline.
[[nodiscard]] std::string plain_step_line(const RunInfo& info,
                                          const StepRecord& step,
                                          const Progress& progress);

/// Returns one step with a progress bar, in at most `columns` characters: what matters least is
/// left out where they are few.
[[nodiscard]] std::string live_step_line(const RunInfo& info,
                                         const StepRecord& step,
                                         const Progress& progress,
                                         int columns);

/// Returns an evaluation's numbers: "loss 3.4012, perplexity 30.0, 50,000 tokens in 1.2 s".
[[nodiscard]] std::string evaluation_text(const RunInfo& info, const EvaluationRecord& evaluation);

}  // namespace sheaf::train
