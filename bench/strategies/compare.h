#pragma once

#include <string>

#include "run_options.h"

namespace sheaf::bench {

struct CompareOptions {
  /// Its strategy is left out of account: all are run unless `only` names one.
  RunOptions run;
  std::string only;
  int ranks = 2;
  /// How often each side of each strategy is run.
  int repetitions = 3;
  /// This program, and what else is started.
  std::string program;
  std::string python;
  std::string peer;
};

/// Runs both sides of all strategies in turns, each in fresh processes, and prints a table in
/// markdown. Throws Error if one of them fails.
void compare(const CompareOptions& options);

}  // namespace sheaf::bench
