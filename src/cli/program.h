#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace sheaf::cli {

/// Runs `sheaf` as a process would and returns its exit code: 2 for wrong usage, 1 for every other
/// failure, each with one line on `err`. Nothing is thrown.
int run_program(int argc, char** argv, std::ostream& out, std::ostream& err);

/// The same over other commands; `arguments` come after the program's name.
int run_program(const CommandList& commands,
                const std::vector<std::string>& arguments,
                Console console);

}  // namespace sheaf::cli
