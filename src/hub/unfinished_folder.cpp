#include "hub/unfinished_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/durable.h"
#include "base/place_of.h"
#include "sheaf/base/error.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const char* what, const fs::path& path, const std::error_code& error) {
  throw IoError(fmt::format("cannot {} a folder ({}): {}", what, error.message(), path.string()));
}

}  // namespace

UnfinishedFolder::UnfinishedFolder(const std::string& path, bool overwrite)
    : place_(place_of(path)), temporary_(place_.string() + ".unfinished"), overwrite_(overwrite) {}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code ignored;
  if (begun_) fs::remove_all(temporary_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void UnfinishedFolder::begin() {
  std::error_code error;
  fs::create_directories(temporary_, error);
  if (error) refuse("make", temporary_, error);
  // Not through a link: what is in the folder is removed.
  lock_ = ::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (lock_ < 0) refuse("open", temporary_, {errno, std::generic_category()});
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    throw UsageError("another process is writing this folder: " + temporary_.string());
  }
  begun_ = true;
  // What somebody left who never finished.
  for (const auto& old : fs::directory_iterator(temporary_, error)) fs::remove_all(old, error);
  if (error) refuse("replace", temporary_, error);
}

void UnfinishedFolder::finish() {
  const fs::path old = fmt::format("{}.replaced.{}", place_.string(), ::getpid());
  std::error_code error;
  // The system moves a folder onto an empty one, but onto no other.
  const bool replaces = overwrite_ && fs::exists(place_, error) && !fs::is_empty(place_, error);
  if (replaces) fs::rename(place_, old, error);
  if (error) refuse("replace", place_, error);
  fs::rename(temporary_, place_, error);
  if (error) {
    std::error_code ignored;
    if (replaces) fs::rename(old, place_, ignored);
    refuse("move to its place", place_, error);
  }
  begun_ = false;
  keep_folder_of(place_);
  if (replaces) fs::remove_all(old, error);
}

}  // namespace sheaf::hub
