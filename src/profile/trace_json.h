#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace sheaf::profile {

/// Reads a Chrome trace event by event, so that it never is in memory as a whole: `take` gets each
/// event of the list, in order, with its number. Returns the members beside the list. Throws
/// UsageError for what is no trace, IoError for what cannot be read.
nlohmann::json read_events(
    const std::string& path,
    const std::function<void(nlohmann::json& event, std::int64_t number)>& take);

/// Returns what the times of a trace count from, in nanoseconds of the wall clock; 0 if it does not
/// say.
[[nodiscard]] std::int64_t base_time_of(const std::string& path);

}  // namespace sheaf::profile
