#pragma once

#include <string>

#include "run_options.h"

namespace sheaf::bench {

/// What is started to compare sheaf's training with PyTorch's.
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

/// What is compared in one row of a table.
struct Contest {
  Strategy strategy;
  int ranks = 2;
};

/// What one run came to.
struct Figures {
  double tokens_per_second = 0;
  double step_ms = 0;
  /// The most that any rank held.
  double peak_mb = 0;
  /// All that is taken of the GPU.
  double gpu_used_mb = 0;
  double loss = 0;
  /// What carried the data.
  std::string backend;
};

/// Run one side in fresh processes. Throw Error, with what was printed, if it fails.
[[nodiscard]] Figures run_pytorch(const CompareOptions& options, const Contest& contest);
[[nodiscard]] Figures run_sheaf(const CompareOptions& options, const Contest& contest);

/// Runs a command and returns what it wrote. Throws Error, with that, if it failed.
[[nodiscard]] std::string output_of(const std::string& command);

}  // namespace sheaf::bench
