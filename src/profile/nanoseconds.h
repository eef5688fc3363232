#pragma once

#include <chrono>
#include <cstdint>

#include "sheaf/base/units.h"

namespace sheaf::profile {

/// Returns the time that so many nanoseconds are, as intervals and spans count them.
[[nodiscard]] inline Seconds seconds(std::int64_t nanoseconds) {
  return std::chrono::nanoseconds(nanoseconds);
}

}  // namespace sheaf::profile
