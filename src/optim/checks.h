#pragma once

#include <string_view>

namespace sheaf::optim {

/// Throw UsageError, which starts with `what`, unless `value` is a finite number within the limits.
void check_not_negative(std::string_view what, double value);
void check_below_one(std::string_view what, double value);

}  // namespace sheaf::optim
