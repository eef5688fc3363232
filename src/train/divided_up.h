#pragma once

#include <cstdint>

namespace sheaf::train {

/// Divides a positive number and rounds up.
[[nodiscard]] constexpr std::int64_t divided_up(std::int64_t whole, std::int64_t part) {
  return 1 + (whole - 1) / part;
}

}  // namespace sheaf::train
