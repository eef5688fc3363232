#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace sheaf::cli::doctor {

/// Returns what the file holds; empty if it cannot be read.
[[nodiscard]] inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Errors of others may bring a backtrace along, which is not for the user.
[[nodiscard]] inline std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace sheaf::cli::doctor
