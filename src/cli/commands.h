#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace sheaf::cli {

using CommandList = std::vector<std::unique_ptr<Command>>;

/// Makes every subcommand of `sheaf`, in the order in which they are listed. `help` is not among
/// them: the program itself answers it.
[[nodiscard]] CommandList commands();

}  // namespace sheaf::cli
