#pragma once

#include <string>
#include <vector>

namespace sheaf::cli {

/// Returns the checkpoints that a path means: itself, or all those of a run's folder, the oldest
/// first. Throws UsageError where there are none.
[[nodiscard]] std::vector<std::string> find_checkpoints(const std::string& path);

/// Returns the newest of them.
[[nodiscard]] std::string find_checkpoint(const std::string& path);

}  // namespace sheaf::cli
