#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rows.h"
#include "step_work.h"

namespace sheaf::bench {

/// How PyTorch is used.
enum class PyTorchStyle {
  /// The vocabulary as it is, and flash attention, the kernel that PyTorch takes by itself where
  /// there is one.
  plain,
  /// The vocabulary padded and the fastest attention kernel: what a careful user does.
  tuned,
  /// That and torch.compile.
  compiled,
};

/// What is started, and for how long.
struct Contest {
  Row row;
  StepWork work;
  std::int64_t steps = 20;
  std::int64_t warm_up = 5;
  std::string python;
  /// The folder of the Python files, and sheaf.
  std::string scripts;
  std::string program;
  /// The attention kernel of PyTorch where it is not plain; empty: the fastest.
  std::string attention;
  /// Options of sheaf that differ from the row's, such as train.graph=off.
  std::vector<std::string> changes;
};

/// What one side's run came to.
struct Figures {
  /// The median of the measured steps.
  double step_ms = 0;
  /// The mean by the wall clock, with all that is between the steps.
  double wall_ms = 0;
  double peak_bytes = 0;
  /// From the start of the process to the end of the first step.
  double first_step_s = 0;
  double loss = 0;
  /// All that the side says of itself.
  nlohmann::json details;
};

/// Throws Error with what sheaf says of the row's options where it does not take them.
void check_sheaf(const Contest& contest);

/// Returns what pytorch_peer.py is to do.
[[nodiscard]] nlohmann::json task_of(const Contest& contest, PyTorchStyle style);

/// Each runs in a fresh process. They throw Error that ends with what that process wrote last.
[[nodiscard]] nlohmann::json measure_light(const Contest& contest);
[[nodiscard]] Figures run_pytorch(const Contest& contest, PyTorchStyle style);
[[nodiscard]] Figures run_sheaf(const Contest& contest);

/// Records a trace of some steps of sheaf's into a folder.
void record_sheaf(const Contest& contest, const std::string& folder);

}  // namespace sheaf::bench
