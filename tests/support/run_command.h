#pragma once

#include <string>
#include <vector>

#include "sheaf/base/units.h"

namespace sheaf::testing {

/// How a command ended and what it wrote.
struct CommandResult {
  /// 128+n if signal n ended it.
  int exit_code = 0;
  /// Whether it was killed because it had not ended in time.
  bool timed_out = false;
  std::string out;
  std::string err;
};

/// Stays below ctest's limit, so that a command that hangs is reported with its output.
inline constexpr Seconds kCommandDeadline{250};

/// Runs a program, looked up in PATH, with its arguments and an empty input, and waits until it has
/// ended and nobody writes to its output any more. After `deadline` its whole process group is
/// killed. Throws IoError if it cannot be started.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& command,
                                        Seconds deadline = kCommandDeadline);

/// Returns how it ended and all it wrote, for the message of a failing test.
[[nodiscard]] std::string describe(const CommandResult& result);

}  // namespace sheaf::testing
