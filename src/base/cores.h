#pragma once

#include <optional>
#include <string_view>

namespace sheaf {

/// Returns the cores this process may use: its affinity, or a control group's quota if smaller.
[[nodiscard]] int usable_cores();

/// Reads a control group's cpu.max ("150000 100000"): cores rounded up; nothing where unlimited.
[[nodiscard]] std::optional<int> parse_cpu_max(std::string_view text);

}  // namespace sheaf
