#include "launch/oom_kills.h"

#include <fstream>
#include <string>
#include <vector>

namespace sheaf::launch {
namespace {

namespace fs = std::filesystem;

// Returns the number after "oom_kill" in a file of lines "name number".
std::optional<std::int64_t> read_count(const fs::path& file) {
  std::ifstream lines(file);
  std::string name;
  for (std::int64_t count = 0; lines >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

// Where this process's control group may have its events. Inside a container the path is often that
// of the host, and what the container sees begins at the top.
std::vector<fs::path> event_files(const fs::path& root) {
  std::vector<fs::path> files;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.substr(line.rfind(':') + 1);
    const auto inside = fs::path(path).relative_path();
    if (line.starts_with("0::")) {
      files.push_back(mount / inside / "memory.events");
    } else if (line.find(":memory:") != std::string::npos) {
      files.push_back(mount / "memory" / inside / "memory.oom_control");
    }
  }
  files.push_back(mount / "memory.events");
  files.push_back(mount / "memory/memory.oom_control");
  return files;
}

}  // namespace

std::optional<std::int64_t> count_oom_kills(const fs::path& root) {
  for (const auto& file : event_files(root)) {
    if (const auto count = read_count(file)) return count;
  }
  return std::nullopt;
}

}  // namespace sheaf::launch
