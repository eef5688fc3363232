#include "cli/doctor/system_checks.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/amx.h"
#include "base/cores.h"
#include "base/memory_room.h"
#include "cli/doctor/read_text.h"
#include "launch/environment.h"
#include "launch/file_descriptor.h"
#include "sheaf/base/error.h"

namespace sheaf::cli::doctor {
namespace {

constexpr Bytes kLittleMemory = gibibytes(1);
constexpr Bytes kLittleShm = mebibytes(64);
constexpr std::uint64_t kFewFiles = 1024;
constexpr std::uint64_t kEnoughFiles = 65536;

CoreCounts count_cores() {
  return {.usable = usable_cores(),
          .hardware_threads = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))};
}

MemorySizes measure_memory() {
  MemorySizes memory = parse_meminfo(read_text("/proc/meminfo"));
  memory.limit = group_memory_limit("/sys/fs/cgroup", read_text("/proc/self/cgroup"));
  return memory;
}

std::optional<Bytes> shm_size() {
  struct statvfs found {};
  if (::statvfs("/dev/shm", &found) != 0) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(found.f_blocks * found.f_frsize)};
}

OpenFileLimits read_open_file_limits() {
  rlimit limits{};
  ::getrlimit(RLIMIT_NOFILE, &limits);
  return {.soft = limits.rlim_cur, .hard = limits.rlim_max};
}

std::string limit_text(std::uint64_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

int error_of_pidfd_open() {
  const launch::FileDescriptor self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return self.is_open() ? 0 : errno;
}

int error_of_memfd_create() {
  const launch::FileDescriptor file(::memfd_create("sheaf-doctor", MFD_CLOEXEC));
  return file.is_open() ? 0 : errno;
}

Check program_check(const std::string& name) {
  try {
    return {.name = name, .value = launch::find_program(name)};
  } catch (const UsageError&) {
    return {.name = name, .value = "not in PATH, not needed"};
  }
}

}  // namespace

Check cores_check(const CoreCounts& cores) {
  const bool is_limited = cores.usable < cores.hardware_threads;
  return {.name = "cores",
          .value = fmt::format("{} usable of {} hardware threads{}",
                               cores.usable,
                               cores.hardware_threads,
                               is_limited ? ", by affinity or a control group's quota" : "")};
}

Check memory_check(const MemorySizes& memory) {
  Check check{.name = "memory",
              .value = fmt::format(
                  "{} available of {}", to_string(memory.available), to_string(memory.total))};
  const Bytes limit = memory.limit.value_or(memory.total);
  if (limit < memory.total) {
    check.value += fmt::format("; the control group may use {}", to_string(limit));
  }
  if (std::min(limit, memory.available) >= kLittleMemory) return check;
  check.status = Status::note;
  check.advice = limit < kLittleMemory
                     ? "few models fit: raise the memory limit of the container or the job"
                     : "few models fit: end what else runs here";
  return check;
}

MemorySizes parse_meminfo(std::string_view text) {
  MemorySizes memory;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::int64_t count = 0;
    if (!(words >> key >> count)) continue;
    if (key == "MemTotal:") memory.total = kibibytes(count);
    if (key == "MemAvailable:") memory.available = kibibytes(count);
  }
  return memory;
}

Check shm_check(std::optional<Bytes> size) {
  if (size.has_value() && *size >= kLittleShm) {
    return {.name = "/dev/shm", .value = to_string(*size)};
  }
  return {.name = "/dev/shm",
          .value = size.has_value() ? to_string(*size) : "not there",
          .status = Status::note,
          .advice =
              "sheaf does not need it, but NCCL between devices and PyTorch's data loaders "
              "do: start the container with --shm-size=1g"};
}

Check open_files_check(const OpenFileLimits& limits) {
  Check check{
      .name = "open files",
      .value = fmt::format("{} (hard limit {})", limit_text(limits.soft), limit_text(limits.hard))};
  if (limits.soft >= kFewFiles) return check;
  check.status = Status::note;
  check.advice =
      limits.hard > limits.soft
          ? fmt::format("many ranks need more: ulimit -n {}", std::min(limits.hard, kEnoughFiles))
          : "many ranks need more: have the administrator raise the hard limit (nofile in "
            "/etc/security/limits.conf)";
  return check;
}

Check system_call_check(const std::string& name, int error) {
  if (error == 0) return {.name = name, .value = "works"};
  return {.name = name,
          .value = std::strerror(error),
          .status = Status::wrong,
          .advice =
              "sheaf needs Linux 5.3 or later, and a container whose security profile allows "
              "this call"};
}

Check broken_amx_check() {
  return {.name = "AMX",
          .value = "claimed by the processor, but tiles have no size",
          .status = Status::note,
          .advice =
              "sheaf does without; other programs need ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16, or "
              "their first bf16 product on the CPU ends them"};
}

std::vector<Check> system_checks() {
  std::vector<Check> checks{cores_check(count_cores()),
                            memory_check(measure_memory()),
                            shm_check(shm_size()),
                            open_files_check(read_open_file_limits()),
                            system_call_check("pidfd_open", error_of_pidfd_open()),
                            system_call_check("memfd_create", error_of_memfd_create()),
                            program_check("mpirun"),
                            program_check("torchrun"),
                            program_check("srun")};
  // Most machines need no word about it.
  if (has_broken_amx()) checks.insert(checks.begin() + 1, broken_amx_check());
  return checks;
}

}  // namespace sheaf::cli::doctor
