#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/plan/architecture.h"
#include "sheaf/plan/setting.h"

namespace sheaf::plan {

/// A run that may be changed.
struct PlannedRun {
  Architecture model;
  Setting setting;
};

/// A change that makes a run fit.
struct WayOut {
  /// Fields of the configuration and their new values: ("batch.micro", "2"); "ranks" is the number
  /// of ranks.
  std::vector<std::pair<std::string, std::string>> fields;
  /// What it means, such as "2 texts at a time, 4 passes per step".
  std::string meaning;
  PlannedRun run;
  /// What it will take.
  Bytes peak;
};

/// Looks for changes with which a run fits into a limit, each checked by predict_memory(); gentle
/// ones first: those that compute the same come before those that change numbers, texts or the
/// model. What one change cannot do, several together may, each no stronger than needed. Leaves a
/// margin for what a prediction does not know. Returns at most `most`, fewer if there are no more.
[[nodiscard]] std::vector<WayOut> ways_out(const PlannedRun& run,
                                           Bytes limit,
                                           std::size_t most = 3);

}  // namespace sheaf::plan
