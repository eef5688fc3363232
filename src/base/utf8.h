#pragma once

#include <cstddef>
#include <string_view>

namespace sheaf {

/// Tells whether `text` is well-formed UTF-8: what a TOML file can hold and read back.
[[nodiscard]] bool is_utf8(std::string_view text);

/// Returns how many bytes at the end of `text` begin a character that further bytes may complete.
[[nodiscard]] std::size_t unfinished_bytes(std::string_view text);

}  // namespace sheaf
