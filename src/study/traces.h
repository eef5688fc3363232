#pragma once

#include <filesystem>
#include <string>

#include "study/json.h"
#include "study/strategies.h"

namespace sheaf::study {

/// Runs a strategy while its last `recorded` steps are traced, in a folder `name` below `folder`,
/// and returns where the time of each rank went.
[[nodiscard]] Json profile_strategy(const StrategyRun& run,
                                    const std::string& name,
                                    std::int64_t recorded,
                                    const std::filesystem::path& folder);

/// Returns what steps of the trace in `after` do differently from those in `before`, per step.
[[nodiscard]] Json trace_difference(const std::filesystem::path& before,
                                    const std::filesystem::path& after);

}  // namespace sheaf::study
