#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sheaf::launch {

/// Returns how many processes of this process's control group the kernel has killed for want of
/// memory so far; nothing where it does not say. `root` is where proc and sys are mounted.
[[nodiscard]] std::optional<std::int64_t> count_oom_kills(const std::filesystem::path& root = "/");

}  // namespace sheaf::launch
