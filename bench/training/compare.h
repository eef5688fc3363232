#pragma once

#include <vector>

#include "sides.h"

namespace sheaf::bench {

/// Runs both sides of all contests in turns, each in fresh processes, and prints a table in
/// markdown. Throws Error if one of them fails.
void compare(const CompareOptions& options, const std::vector<Contest>& contests);

}  // namespace sheaf::bench
