#pragma once

#include <string>

#include "cli/commands.h"

namespace sheaf::cli {

/// Returns docs/configuration.md: every section that a command takes, in Markdown.
[[nodiscard]] std::string configuration_page(const CommandList& commands);
/// The same for all commands of `sheaf`.
[[nodiscard]] std::string configuration_page();

}  // namespace sheaf::cli
