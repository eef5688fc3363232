#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sheaf/train/options.h"
#include "study/json.h"
#include "study/trial.h"

namespace sheaf::study {

/// What is compared: the same weights, data and global batch with each strategy.
struct StrategyRun {
  train::RunOptions options;
  std::string strategy;
  int ranks = 1;
  std::int64_t steps = 20;
};

/// Returns the strategies that so many ranks can take, the simplest first.
[[nodiscard]] std::vector<std::string> usual_strategies(int ranks);

/// Returns the run on one rank that others are held against: it computes as many samples at a time
/// as each of `ranks` would, so it makes more passes.
[[nodiscard]] StrategyRun one_rank(const train::RunOptions& options, int ranks, std::int64_t steps);

/// Returns the options of a strategy's run; a hybrid gets two copies unless the mesh has some.
[[nodiscard]] train::RunOptions options_for(const StrategyRun& run);

/// Returns what the plan says a rank will hold at most; null for runs that are not planned.
[[nodiscard]] Json predicted_peak(const train::RunOptions& options, int ranks);

/// Runs it in a folder below `folder` and returns its row: docs/study.md names the members.
[[nodiscard]] Json measure_strategy(const StrategyRun& run, const std::filesystem::path& folder);

/// Returns the row of a run that has ended; `ranks` and options are those it had.
[[nodiscard]] Json row_of(const TrialResult& result, const train::RunOptions& options, int ranks);

/// Adds to each row what it is beside the run on one rank: speed-up, whether the loss is the same,
/// and `problems`, a sentence for each thing that is wrong.
void compare_with(const Json& baseline, Json& rows);

}  // namespace sheaf::study
