#include "base/memory_room.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "sheaf/base/error.h"

namespace sheaf {
namespace {

namespace fs = std::filesystem;

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

/// What the files of a group are called, which depends on the version.
struct GroupFiles {
  const char* limit;
  const char* use;
  /// Line of memory.stat that has the bytes of files which can be dropped.
  const char* droppable;
};
constexpr GroupFiles kVersion1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

std::optional<Bytes> read_limit(const fs::path& file) {
  std::ifstream text(file);
  std::int64_t count = 0;
  if (!(text >> count) || count >= kNoLimit) return std::nullopt;
  return Bytes{count};
}

/// Returns the number in the line that starts with `key`; 0 where there is none.
std::int64_t number_after(const std::string& key, const fs::path& file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::int64_t count = 0;
    if (words >> word >> count && word == key) return count;
  }
  return 0;
}

std::optional<Bytes> limit_of(const fs::path& folder, const GroupFiles& files) {
  return read_limit(folder / files.limit);
}

std::optional<Bytes> room_of(const fs::path& folder, const GroupFiles& files) {
  const auto limit = limit_of(folder, files);
  if (!limit) return std::nullopt;
  const std::int64_t use = read_limit(folder / files.use).value_or(Bytes{}).count;
  const std::int64_t droppable = number_after(files.droppable, folder / "memory.stat");
  return Bytes{std::max<std::int64_t>(0, limit->count - use + std::min(droppable, use))};
}

using Ask = std::function<std::optional<Bytes>(const fs::path&, const GroupFiles&)>;

void tighten(std::optional<Bytes>& least, std::optional<Bytes> other) {
  if (other) least = std::min(*other, least.value_or(*other));
}

// Walks from the mount down to `group`. In a container the group's path may be the host's, which
// does not exist there; what counts is then at the mount itself.
std::optional<Bytes> least_down_to(const fs::path& group,
                                   fs::path folder,
                                   const GroupFiles& files,
                                   const Ask& ask) {
  std::optional<Bytes> least = ask(folder, files);
  for (const auto& name : group.relative_path()) {
    folder /= name;
    tighten(least, ask(folder, files));
  }
  return least;
}

std::optional<Bytes> least_of(const fs::path& root, std::string_view groups, const Ask& ask) {
  std::optional<Bytes> least;
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    // "0::/path" is version 2, "4:memory:/path" version 1.
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controller = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controller.empty()) tighten(least, least_down_to(path, root, kVersion2, ask));
    if (controller == "memory") {
      tighten(least, least_down_to(path, root / "memory", kVersion1, ask));
    }
  }
  return least;
}

}  // namespace

std::optional<Bytes> group_memory_limit(const fs::path& root, std::string_view groups) {
  return least_of(root, groups, limit_of);
}

std::optional<Bytes> group_memory_room(const fs::path& root, std::string_view groups) {
  return least_of(root, groups, room_of);
}

Bytes free_memory() {
  const Bytes available = kibibytes(number_after("MemAvailable:", "/proc/meminfo"));
  if (available.count == 0) {
    throw IoError("/proc/meminfo does not say how much memory is free: give --memory.limit");
  }
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream groups;
  groups << file.rdbuf();
  return std::min(available, group_memory_room("/sys/fs/cgroup", groups.str()).value_or(available));
}

}  // namespace sheaf
