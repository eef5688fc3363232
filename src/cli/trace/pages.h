#pragma once

#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/profile/trace_difference.h"
#include "sheaf/profile/trace_report.h"

// What `sheaf trace` prints; `top` is how many operators, 0 for all.
namespace sheaf::cli::trace {

/// Returns a time as both pages show those of operators, without its unit.
[[nodiscard]] std::string microseconds(Seconds time);

[[nodiscard]] std::string report_page(const std::vector<profile::RankTrace>& ranks,
                                      const std::vector<profile::Verdict>& verdicts,
                                      int top);
[[nodiscard]] std::string report_json(const std::vector<profile::RankTrace>& ranks,
                                      const std::vector<profile::Verdict>& verdicts);

[[nodiscard]] std::string difference_page(const profile::TraceDifference& difference, int top);
[[nodiscard]] std::string difference_json(const profile::TraceDifference& difference);

}  // namespace sheaf::cli::trace
