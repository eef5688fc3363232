#pragma once

#include <string>
#include <vector>

namespace sheaf::study {

/// How a program ended and what it wrote.
struct ChildResult {
  /// 128+n if signal n ended it.
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Runs a program, looked up in PATH, with an empty input, and waits for its end. If this process
/// dies meanwhile, the program is asked to end (SIGTERM). Throws IoError if it cannot be started.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& command);

/// Returns the last line that is not empty: where programs say why they ended.
[[nodiscard]] std::string last_line(const std::string& text);

/// Returns how this program can be started again.
[[nodiscard]] std::string own_program();

}  // namespace sheaf::study
