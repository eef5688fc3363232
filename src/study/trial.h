#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sheaf/train/options.h"
#include "study/json.h"
#include "study/run_files.h"

namespace sheaf::study {

/// One run in processes of its own, for the sake of its figures.
struct Trial {
  /// Names its folder.
  std::string name;
  train::RunOptions options;
  int ranks = 1;
};

enum class Ending { finished, out_of_memory, failed };

[[nodiscard]] std::string_view name(Ending ending);

struct TrialResult {
  Ending ending = Ending::finished;
  /// Why it did not finish: the last line of what it wrote.
  std::string reason;
  /// How to do it again.
  std::vector<std::string> command;
  /// Only if it finished.
  RunFiles run;
};

/// Takes from a run all that is not its steps: evaluation, samples, checkpoints, export.
[[nodiscard]] train::RunOptions only_steps(train::RunOptions options, std::int64_t steps);

/// Runs `sheaf train` in a folder below `folder`, with the options as its file trial.toml; what an
/// earlier try has left there is removed.
[[nodiscard]] TrialResult run_trial(const Trial& trial, const std::filesystem::path& folder);

/// Runs `sheaf memory` in the same way, for three steps, and returns its report; null if it did not
/// finish. With CUDA the allocator's history goes to snapshot.pickle in the folder.
[[nodiscard]] Json measure_memory(const Trial& trial, const std::filesystem::path& folder);

}  // namespace sheaf::study
