#pragma once

#include <string>
#include <vector>

#include "error_messages.h"

namespace sheaf {

/// A page of docs/ that is made from the sources.
struct ErrorPage {
  /// Below the root of the repository.
  std::string path;
  std::string text;
};

/// Returns the pages that list every UsageError among the messages, folder by folder. Throws
/// std::runtime_error where a folder has no place on them.
[[nodiscard]] std::vector<ErrorPage> usage_pages(const MessagesByPath& messages);

}  // namespace sheaf
