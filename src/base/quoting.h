#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// Returns `text` with control characters written as \n, \t or \u001B, and a backslash before
/// each character of `special`.
[[nodiscard]] std::string escaped(std::string_view text, std::string_view special = {});

/// Returns `text` in single quotes for a message of one line: escaped, and cut if it is long.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace sheaf
