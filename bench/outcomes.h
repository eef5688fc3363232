#pragma once

#include <iostream>
#include <vector>

#include "sheaf/comm/run_ranks.h"

namespace sheaf::bench {

/// Tells whether all ranks ended well, and prints what the others threw.
[[nodiscard]] inline bool all_went_well(const std::vector<comm::RankOutcome>& outcomes) {
  bool well = true;
  for (const comm::RankOutcome& outcome : outcomes) {
    if (!outcome.error.empty()) std::cerr << outcome.error << "\n";
    well = well && outcome.exit_code == 0;
  }
  return well;
}

}  // namespace sheaf::bench
