#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare.h"

namespace sheaf::bench {

struct ProgramOptions {
  CompareOptions compare;
  /// Compares this strategy alone.
  std::string only;
  int ranks = 2;
};

/// The whole main() of a benchmark that compares training: one side of one contest where
/// --strategy names it, otherwise the contests that `choose` returns.
int run_program(int argc,
                char** argv,
                const std::function<std::vector<Contest>(const ProgramOptions&)>& choose);

}  // namespace sheaf::bench
