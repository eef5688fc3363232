#pragma once

#include <filesystem>
#include <string>

namespace sheaf::hub {

/// Returns the folder's name without links and without a slash at its end.
[[nodiscard]] std::filesystem::path place_of(const std::string& path);

/// A folder that is filled beside its place and moved there when it is whole.
class UnfinishedFolder {
 public:
  /// Does nothing to the disk; `begin` does.
  explicit UnfinishedFolder(const std::string& path);
  /// Removes the folder if it was begun here and not finished.
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  /// Returns where a file is for now.
  [[nodiscard]] std::string path_of(const std::string& file) const { return temporary_ / file; }
  /// Makes the folder, in place of one that was never finished. Throws IoError.
  void begin();
  /// Moves it to its place; what is there goes away. Throws IoError.
  void finish();

 private:
  std::filesystem::path place_;
  std::filesystem::path temporary_;
  bool begun_ = false;
};

}  // namespace sheaf::hub
