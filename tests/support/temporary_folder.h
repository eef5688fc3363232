#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sheaf::testing {

/// A folder that is there as long as this lives.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(std::string_view name) const;
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const;
  [[nodiscard]] std::string read(std::string_view name) const;
  /// Returns the names of what is in it, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string path_;
};

}  // namespace sheaf::testing
