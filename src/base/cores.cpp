#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace sheaf {
namespace {

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more cores than cpu_set_t has bits.
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The tightest quota of this process's control group (version 2) and those around it.
std::optional<int> quota_cores() {
  const std::string groups = read_text("/proc/self/cgroup");
  const auto start = groups.find("0::/");
  if (start == std::string::npos) return std::nullopt;
  const auto own = groups.substr(start + 4, groups.find('\n', start) - start - 4);
  std::filesystem::path folder = "/sys/fs/cgroup";
  auto cores = parse_cpu_max(read_text(folder / "cpu.max"));
  for (const auto& name : std::filesystem::path(own)) {
    folder /= name;
    const auto quota = parse_cpu_max(read_text(folder / "cpu.max"));
    if (quota.has_value()) cores = std::min(*quota, cores.value_or(*quota));
  }
  return cores;
}

}  // namespace

int usable_cores() {
  const int cores = affinity_cores();
  return std::min(cores, quota_cores().value_or(cores));
}

std::optional<int> parse_cpu_max(std::string_view text) {
  std::istringstream fields{std::string(text)};
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!(fields >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>((quota + period - 1) / period);
}

}  // namespace sheaf
