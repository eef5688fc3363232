#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace sheaf::launch {

/// Returns what poll() takes for "that long, or a minute at most"; without a time for ever.
[[nodiscard]] inline int poll_timeout_ms(
    const std::optional<std::chrono::steady_clock::duration>& left) {
  if (!left) return -1;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(*left).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000));
}

}  // namespace sheaf::launch
