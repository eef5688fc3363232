#include "hub/unfinished_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "checkpoint/durable.h"
#include "sheaf/base/error.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const char* what, const fs::path& path, const std::error_code& error) {
  throw IoError(fmt::format("cannot {} a folder ({}): {}", what, error.message(), path.string()));
}

}  // namespace

fs::path place_of(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path), error);
  if (error) refuse("find", path, error);
  return place.has_filename() ? place : place.parent_path();
}

UnfinishedFolder::UnfinishedFolder(const std::string& path)
    : place_(place_of(path)), temporary_(place_.string() + ".unfinished") {}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code ignored;
  if (begun_) fs::remove_all(temporary_, ignored);
}

void UnfinishedFolder::begin() {
  std::error_code error;
  fs::remove_all(temporary_, error);
  if (error) refuse("replace", temporary_, error);
  fs::create_directories(temporary_, error);
  if (error) refuse("make", temporary_, error);
  begun_ = true;
}

void UnfinishedFolder::finish() {
  const fs::path old = place_.string() + ".replaced";
  std::error_code error;
  // The system moves a folder onto an empty one, but onto no other.
  const bool replaces = fs::exists(place_, error) && !fs::is_empty(place_, error);
  if (replaces) fs::remove_all(old, error);
  if (replaces) fs::rename(place_, old, error);
  if (error) refuse("replace", place_, error);
  fs::rename(temporary_, place_, error);
  if (error) {
    std::error_code ignored;
    if (replaces) fs::rename(old, place_, ignored);
    refuse("move to its place", place_, error);
  }
  begun_ = false;
  checkpoint::keep_folder_of(place_);
  if (replaces) fs::remove_all(old, error);
}

}  // namespace sheaf::hub
