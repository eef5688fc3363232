#pragma once

#include <string>

namespace sheaf::launch {

/// Why a generation ended, and the exit code that every launcher returns where none follows.
struct Failure {
  int code = 1;
  std::string sentence{};
  /// Where the rank was that failed; -1: it was no rank.
  int node = -1;
  int slot = -1;
};

}  // namespace sheaf::launch
