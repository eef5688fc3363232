#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "sheaf/base/units.h"

namespace sheaf {

/// Returns the tightest memory limit of a process's control group and those around it, version 1 or
/// 2; nothing where there is none. `root` is where they are mounted (/sys/fs/cgroup), `groups` the
/// text of /proc/PID/cgroup.
[[nodiscard]] std::optional<Bytes> group_memory_limit(const std::filesystem::path& root,
                                                      std::string_view groups);

/// Returns how much more the same groups may take: the least of what each has left, where files
/// that are kept only for their next reader count as free.
[[nodiscard]] std::optional<Bytes> group_memory_room(const std::filesystem::path& root,
                                                     std::string_view groups);

/// Returns what this process may still take: what the system has available, or what its control
/// group has left if that is less. Throws IoError if the system does not say.
[[nodiscard]] Bytes free_memory();

}  // namespace sheaf
