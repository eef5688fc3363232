#pragma once

namespace sheaf::cli {

/// Returns what shells give to programs that a signal ended: 128 + n.
constexpr int exit_code_of_signal(int signal) { return 128 + signal; }

}  // namespace sheaf::cli
