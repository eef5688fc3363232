#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "sheaf/base/error.h"

namespace sheaf::bench {

/// A folder that is there as long as this lives.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sheaf_bench_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError("cannot make a folder: " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace sheaf::bench
