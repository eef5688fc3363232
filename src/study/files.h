#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sheaf::study {

/// Returns a name, such as that of a strategy, without characters that trouble shells and paths.
[[nodiscard]] std::string file_name(std::string name);

/// Makes a folder and those above it. Throws IoError.
void make_folder(const std::filesystem::path& folder);

/// Returns a whole file. Throws IoError.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes a file so that there is either the old one or the whole new one, also after a kill.
/// Throws IoError.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// A folder that is gone when it goes.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sheaf::study
