#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// Returns the command line of this process, which the system keeps: the program first.
[[nodiscard]] std::vector<std::string> own_command_line();

}  // namespace sheaf
