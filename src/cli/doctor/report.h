#pragma once

#include <span>
#include <string>

#include "cli/doctor/checks.h"

namespace sheaf::cli::doctor {

/// Returns a table of the checks, then a line for each advice.
[[nodiscard]] std::string as_text(std::span<const Check> checks);

/// Returns the same as a JSON object: `healthy`, and `checks` with name, value, status and advice.
[[nodiscard]] std::string as_json(std::span<const Check> checks);

}  // namespace sheaf::cli::doctor
