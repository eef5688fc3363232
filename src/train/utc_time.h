#pragma once

#include <chrono>
#include <string>

namespace sheaf::train {

/// Returns the time as ISO 8601 in UTC, such as "2026-11-15T11:20:00Z".
[[nodiscard]] std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace sheaf::train
