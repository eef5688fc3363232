#pragma once

#include <string>
#include <vector>

#include "run_options.h"

namespace sheaf::bench {

struct CompareOptions {
  /// Its strategy is left out of account.
  RunOptions run;
  /// How often each side of each strategy is run.
  int repetitions = 3;
  /// This program, and what else is started.
  std::string program;
  std::string python;
  std::string peer;
};

/// What is compared in one row of the table.
struct Contest {
  Strategy strategy;
  int ranks = 2;
};

/// Runs both sides of all contests in turns, each in fresh processes, and prints a table in
/// markdown. Throws Error if one of them fails.
void compare(const CompareOptions& options, const std::vector<Contest>& contests);

}  // namespace sheaf::bench
