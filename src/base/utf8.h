#pragma once

#include <string_view>

namespace sheaf {

/// Tells whether `text` is well-formed UTF-8: what a TOML file can hold and read back.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace sheaf
