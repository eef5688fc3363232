#pragma once

#include <string>
#include <vector>

#include "study/json.h"

namespace sheaf::study {

/// Reads what several runs have left in their log folders and puts it side by side: figures, curves
/// of loss and speed, and what their configurations differ in. Throws UsageError for folders
/// without a run.
[[nodiscard]] Json compare_runs(const std::vector<std::string>& folders);

/// Returns it for a terminal, with small plots, and as a report for report_html().
[[nodiscard]] std::string compare_page(const Json& comparison);
[[nodiscard]] Json compare_report(const Json& comparison);

/// Returns numbers as a line of bars of eight heights, at most `width` of them, from `low` to
/// `high`; of more numbers than that each bar is a mean.
[[nodiscard]] std::string sparkline(const std::vector<double>& values,
                                    std::size_t width,
                                    double low,
                                    double high);

}  // namespace sheaf::study
