#pragma once

#include <string>
#include <string_view>

#include "sheaf/base/table.h"

// Parts of the pages that a run prints at its start and its end.
namespace sheaf::train {

/// Returns the lines of a text, each one behind `indent` unless it is empty.
[[nodiscard]] std::string indented(const std::string& text, std::string_view indent);

/// Returns a table under its title, behind an empty line.
[[nodiscard]] std::string block(const std::string& title, const Table& table);

}  // namespace sheaf::train
