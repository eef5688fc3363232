#include "base/place_of.h"

#include <fmt/format.h>

#include <system_error>

#include "sheaf/base/error.h"

namespace sheaf {

std::filesystem::path place_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path), error);
  if (error) {
    throw IoError(fmt::format("cannot find a folder ({}): {}", error.message(), path));
  }
  return place.has_filename() ? place : place.parent_path();
}

}  // namespace sheaf
