#pragma once

#include <string_view>

namespace sheaf {

/// Returns the version of sheaf, such as "0.1.0".
[[nodiscard]] std::string_view version();

}  // namespace sheaf
