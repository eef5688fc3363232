#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "study/json.h"

namespace sheaf::study {

/// The results of a study that is made in parts, each a file that is there as a whole or not at
/// all: a study that was killed goes on after its last part.
class Parts {
 public:
  /// `key` says what the study is of. Throws UsageError if the folder has parts of another one.
  Parts(std::filesystem::path folder, const std::string& key);

  /// Returns the part of that name: from its file, or else what `make` returns, which is kept
  /// unless it says that it failed.
  [[nodiscard]] Json get(const std::string& name, const std::function<Json()>& make) const;

 private:
  [[nodiscard]] static bool has_failed(const Json& made);
  [[nodiscard]] std::filesystem::path path_of(const std::string& name) const;

  std::filesystem::path folder_;
};

}  // namespace sheaf::study
