#include "sheaf/checkpoint/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "checkpoint/disk.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/agree.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";
// Steps have at least this many digits, so that names sort as numbers do.
constexpr std::size_t kDigits = 8;

[[noreturn]] void refuse(const std::string& folder, const std::string& reason) {
  throw IoError(fmt::format("cannot read a folder ({}): {}", reason, folder));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  if (!fs::exists(folder, error)) {
    // Nobody knows what is in a folder that cannot be looked at.
    if (error) refuse(folder, error.message());
    return names;
  }
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    names.push_back(each->path().filename());
  }
  if (error) refuse(folder, error.message());
  return names;
}

bool is_leftover(const std::string& name) {
  for (const std::string_view ending : {kUnfinished, kRemoved}) {
    if (!name.ends_with(ending)) continue;
    const std::string_view rest = std::string_view(name).substr(0, name.size() - ending.size());
    if (rest == kLatestName || step_of_name(rest)) return true;
  }
  return false;
}

}  // namespace

std::string name_of_step(std::int64_t step) { return fmt::format("{}{:08}", kStep, step); }

std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kStep) || name.size() < kStep.size() + kDigits) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kStep.size(), end, step);
  const bool is_number = stop == end && error == std::errc() && step >= 0;
  if (!is_number || name_of_step(step) != name) return std::nullopt;
  return step;
}

std::string path_of_step(const std::string& folder, std::int64_t step) {
  return fs::path(folder) / name_of_step(step);
}

std::vector<std::int64_t> steps_in(const std::string& folder) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(folder)) {
    if (const auto step = step_of_name(name)) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

bool latest_leads_to(const std::string& folder, std::int64_t step) {
  std::error_code error;
  const fs::path target = fs::read_symlink(fs::path(folder) / kLatestName, error);
  return !error && target == name_of_step(step);
}

std::string problem_with_latest(const std::string& folder) {
  const std::string path = fs::path(folder) / kLatestName;
  const std::vector<std::int64_t> steps = steps_in(folder);
  std::error_code error;
  const std::string target = fs::read_symlink(path, error);
  if (error) {
    if (!fs::exists(fs::symlink_status(path, error))) {
      return steps.empty() ? "" : fmt::format("there is no link {}", path);
    }
    return fmt::format("{} is no link", path);
  }
  if (!steps.empty() && target == name_of_step(steps.back())) return "";
  return fmt::format("{} leads to {}, and the newest checkpoint is {}",
                     path,
                     target,
                     steps.empty() ? "none" : name_of_step(steps.back()));
}

std::vector<std::int64_t> steps_to_remove(const std::vector<Scored>& all,
                                          const KeepOptions& options) {
  std::vector<std::int64_t> removed;
  if (options.last == 0) return removed;
  std::optional<std::int64_t> best;
  double lowest = 0;
  for (const Scored& each : all) {
    if (!each.score || (best && *each.score > lowest)) continue;
    best = each.step;
    lowest = *each.score;
  }
  const std::size_t old = all.size() - std::min<std::size_t>(all.size(), options.last);
  for (std::size_t i = 0; i < old; ++i) {
    const std::int64_t step = all[i].step;
    const bool is_multiple = options.every > 0 && step % options.every == 0;
    if (!is_multiple && !(options.best && best == step)) removed.push_back(step);
  }
  return removed;
}

FolderLock::FolderLock(const std::string& folder) {
  Disk disk;
  make_folders(folder, disk);
  const std::string path = fs::path(folder) / ".lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0)
    throw IoError(fmt::format("cannot make a file ({}): {}", std::strerror(errno), path));
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(fd_);
  if (reason == EWOULDBLOCK) {
    throw UsageError("another process works on these checkpoints: take another folder than " +
                     folder);
  }
  throw IoError(fmt::format("cannot lock a file ({}): {}", std::strerror(reason), path));
}

FolderLock::~FolderLock() { ::close(fd_); }

void point_latest(const std::string& folder, std::int64_t step, Disk& disk) {
  const std::string latest = fs::path(folder) / kLatestName;
  const std::string next = latest + std::string(kUnfinished);
  disk.remove(next);
  disk.link(name_of_step(step), next);
  try {
    disk.rename(next, latest);
  } catch (const IoError&) {
    static_cast<void>(attempt([&] { disk.remove(next); }));
    throw;
  }
  disk.sync_folder(folder);
}

void set_aside(const std::string& folder, std::int64_t step, std::string_view ending, Disk& disk) {
  const std::string path = path_of_step(folder, step);
  const std::string first = path + std::string(ending);
  std::string name = first;
  std::error_code ignored;
  for (int i = 2; fs::exists(fs::symlink_status(name, ignored)); ++i) {
    name = fmt::format("{}-{}", first, i);
  }
  disk.rename(path, name);
  disk.sync_folder(folder);
}

void remove_checkpoint(const std::string& folder, std::int64_t step, Disk& disk) {
  const std::string path = path_of_step(folder, step);
  const std::string removed = path + std::string(kRemoved);
  disk.remove(removed);
  disk.rename(path, removed);
  // Otherwise a loss of power might bring back the name of what is half gone.
  disk.sync_folder(folder);
  disk.remove(removed);
}

void remove_leftovers(const std::string& folder) {
  Disk disk;
  for (const std::string& name : names_in(folder)) {
    if (is_leftover(name)) disk.remove(fs::path(folder) / name);
  }
}

}  // namespace sheaf::checkpoint
