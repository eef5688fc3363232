#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "sheaf/base/units.h"

namespace sheaf::cli::doctor {

/// Returns the tightest memory limit of a process's control group and those around it, version 1 or
/// 2; nothing where there is none. `root` is where they are mounted (/sys/fs/cgroup), `groups` the
/// text of /proc/PID/cgroup.
[[nodiscard]] std::optional<Bytes> memory_limit(const std::filesystem::path& root,
                                                std::string_view groups);

}  // namespace sheaf::cli::doctor
