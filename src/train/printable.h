#pragma once

#include <string>
#include <string_view>

namespace sheaf::train {

/// Returns the text's lines, each after `indent` and ended by a newline, with what could move the
/// cursor or is no UTF-8 written as \u001B or \xFF. A model may write anything.
[[nodiscard]] std::string printable_lines(std::string_view text, std::string_view indent);

/// Returns the same for a part of a text: newlines and tabs stay, nothing is added.
[[nodiscard]] std::string printable_text(std::string_view text);

/// Returns the number of characters.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// Returns at most the first `columns` characters.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace sheaf::train
