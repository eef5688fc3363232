#pragma once

#include <string>

namespace sheaf {

/// Returns "SIGKILL" for 9.
[[nodiscard]] std::string signal_name(int number);

}  // namespace sheaf
