#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/checks.h"
#include "sheaf/base/units.h"

namespace sheaf::cli::doctor {

/// Reports what the operating system gives and refuses.
[[nodiscard]] std::vector<Check> system_checks();

struct CoreCounts {
  /// What the affinity and the control group's quota leave to this process.
  int usable = 1;
  int hardware_threads = 1;
};
[[nodiscard]] Check cores_check(const CoreCounts& cores);

/// Of a machine where has_broken_amx().
[[nodiscard]] Check broken_amx_check();

struct MemorySizes {
  Bytes total;
  Bytes available;
  /// The control group's limit, if it has one.
  std::optional<Bytes> limit;
};
[[nodiscard]] Check memory_check(const MemorySizes& memory);
/// Reads the text of /proc/meminfo; what it does not name stays 0.
[[nodiscard]] MemorySizes parse_meminfo(std::string_view text);

/// `size`: of /dev/shm; nothing if it is not there.
[[nodiscard]] Check shm_check(std::optional<Bytes> size);

struct OpenFileLimits {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};
[[nodiscard]] Check open_files_check(const OpenFileLimits& limits);

/// `error`: the errno of the call; 0 if it worked.
[[nodiscard]] Check system_call_check(const std::string& name, int error);

}  // namespace sheaf::cli::doctor
