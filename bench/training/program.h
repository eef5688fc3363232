#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sides.h"

namespace sheaf::bench {

struct ProgramOptions {
  CompareOptions compare;
  /// Compares this strategy alone.
  std::string only;
  int ranks = 2;
  /// gpu_ranks: whether both sides run under MPS: "on", "off", or "both", one after the other.
  std::string mps = "both";
  /// gpu_ranks: leaves out the runs that tell how much of the exchanges is hidden.
  bool speed_only = false;
  /// gpu_ranks: a file that gets all figures.
  std::string json;

  /// Returns what is to be compared, less what `only` leaves out.
  [[nodiscard]] std::vector<Contest> contests() const;
};

/// The whole main() of a benchmark that compares training: one side of one contest where
/// --strategy names it, otherwise what `run` does. `defaults` has what the command line may change.
int run_program(int argc,
                char** argv,
                ProgramOptions defaults,
                const std::function<void(const ProgramOptions&)>& run);

}  // namespace sheaf::bench
