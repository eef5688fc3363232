#include "checks.h"

#include <fmt/format.h>

#include <cmath>

#include "sheaf/base/error.h"

namespace sheaf::optim {

void check_not_negative(std::string_view what, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw UsageError(fmt::format("{} must be at least 0, got {}", what, value));
}

void check_below_one(std::string_view what, double value) {
  if (value >= 0 && value < 1) return;
  throw UsageError(fmt::format("{} must be at least 0 and less than 1, got {}", what, value));
}

}  // namespace sheaf::optim
