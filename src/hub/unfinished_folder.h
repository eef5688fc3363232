#pragma once

#include <filesystem>
#include <string>

namespace sheaf::hub {

/// A folder that is filled beside its place and moved there when it is whole.
class UnfinishedFolder {
 public:
  /// Does nothing to the disk; `begin` does. With `overwrite` it may replace what is in its place.
  explicit UnfinishedFolder(const std::string& path, bool overwrite = false);
  /// Removes the folder if it was begun here and not finished.
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  /// Returns where a file is for now.
  [[nodiscard]] std::string path_of(const std::string& file) const { return temporary_ / file; }
  /// Makes the folder, in place of one that was never finished. Throws IoError, and UsageError if
  /// another process is filling it.
  void begin();
  /// Moves it to its place. Throws IoError, also if something came there that must not be replaced.
  void finish();

 private:
  std::filesystem::path place_;
  std::filesystem::path temporary_;
  bool overwrite_;
  bool begun_ = false;
  /// The folder, locked while it is filled.
  int lock_ = -1;
};

}  // namespace sheaf::hub
