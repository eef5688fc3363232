#pragma once

#include <filesystem>
#include <string>

namespace sheaf {

/// Returns a folder's name without links, dots and a slash at its end: the system moves a folder to
/// no other kind of name. The folder need not be there. Throws IoError.
[[nodiscard]] std::filesystem::path place_of(const std::string& path);

}  // namespace sheaf
