#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/file_descriptor.h"

namespace sheaf::launch {

struct RanksLimits {
  int least = 1;
  int most = 1;
};

/// A file in which somebody says how many ranks this node has from now on. It is read when it is
/// written or put in place; while it is missing, nothing is said.
class RanksFile {
 public:
  /// Numbers beyond the limits are passed over with a warning, and so is what is no number.
  /// Throws UsageError where the folder of the file is not there.
  RanksFile(const std::string& path, RanksLimits limits);

  /// Readable when the file may have changed.
  [[nodiscard]] int fd() const { return changes_.get(); }
  /// Returns what the file says, at the first call and whenever it was written since the last one.
  [[nodiscard]] std::optional<int> take_change();

 private:
  [[nodiscard]] bool was_written();

  std::filesystem::path path_;
  RanksLimits limits_;
  FileDescriptor changes_;
  bool is_first_ = true;
};

}  // namespace sheaf::launch
