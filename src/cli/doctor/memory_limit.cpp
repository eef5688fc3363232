#include "cli/doctor/memory_limit.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/doctor/read_text.h"

namespace sheaf::cli::doctor {
namespace {

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

std::optional<Bytes> read_limit(const std::filesystem::path& file) {
  std::istringstream text(read_text(file));
  std::int64_t count = 0;
  if (!(text >> count) || count >= kNoLimit) return std::nullopt;
  return Bytes{count};
}

void tighten(std::optional<Bytes>& limit, std::optional<Bytes> other) {
  if (other) limit = std::min(*other, limit.value_or(*other));
}

// Walks from the mount down to `group`. In a container the group's path may be the host's, which
// does not exist there; what counts is then at the mount itself.
std::optional<Bytes> tightest(std::filesystem::path folder,
                              const std::filesystem::path& group,
                              const std::string& file) {
  std::optional<Bytes> limit = read_limit(folder / file);
  for (const auto& name : group.relative_path()) {
    folder /= name;
    tighten(limit, read_limit(folder / file));
  }
  return limit;
}

}  // namespace

std::optional<Bytes> memory_limit(const std::filesystem::path& root, std::string_view groups) {
  std::optional<Bytes> limit;
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    // "0::/path" is version 2, "4:memory:/path" version 1.
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controller = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controller.empty()) tighten(limit, tightest(root, path, "memory.max"));
    if (controller == "memory") {
      tighten(limit, tightest(root / "memory", path, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace sheaf::cli::doctor
