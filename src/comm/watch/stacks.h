#pragma once

#include <string>

namespace sheaf::comm {

/// Returns what every thread of this process is doing: its name and its stack, with the names of
/// functions where the program has them. Interrupts each thread for a moment; a thread that does
/// not answer is named without a stack.
[[nodiscard]] std::string stacks_of_all_threads();

}  // namespace sheaf::comm
