#pragma once

#include <filesystem>
#include <string_view>

namespace sheaf::train {

/// A file that grows by whole records: each is there for every reader as soon as write() returns,
/// also if the process dies right after.
class AppendFile {
 public:
  /// Opens the file, and makes it and its folder where they are missing. Throws IoError.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Appends the record, or throws IoError and leaves the file as it was.
  void write(std::string_view record);

  /// Removes what stands after the last newline: a line whose writer did not get to its end.
  void drop_open_line();

 private:
  [[noreturn]] void fail(std::string_view verb, int error) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace sheaf::train
