#pragma once

#include <string>

#include "sheaf/train/record.h"
#include "sheaf/train/sink.h"

// Each function returns one line of metrics.jsonl with its newline; docs/metrics.md says what is in
// them, and a change here is a change there.
namespace sheaf::train {

[[nodiscard]] std::string start_line(const RunInfo& info, const std::string& time);
[[nodiscard]] std::string step_line(const RunInfo& info,
                                    const StepRecord& step,
                                    const Progress& progress);
[[nodiscard]] std::string evaluation_line(const RunInfo& info, const EvaluationRecord& evaluation);
[[nodiscard]] std::string sample_line(std::int64_t step, const std::string& text);
[[nodiscard]] std::string end_line(const RunInfo& info, const Summary& summary);

/// Returns a step's own MFU; unset where the peak is unknown.
[[nodiscard]] std::optional<double> mfu_of(const RunInfo& info, const StepRecord& step);
/// Returns a step's own speed; 0 if it took no time.
[[nodiscard]] double items_per_second_of(const StepRecord& step);

}  // namespace sheaf::train
