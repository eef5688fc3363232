#pragma once

#include <string>
#include <vector>

#include "sheaf/train/options.h"

namespace sheaf::study {

/// A run that has one thing more than the one before it in a list.
struct GainStep {
  std::string name;
  std::string meaning;
  train::RunOptions options;
};

/// Returns the runs that show what each choice adds: from one sample at a time with plain attention
/// and layers and exchanges by themselves to the run as configured, and then more passes per step.
/// `batch` is the micro-batch to come to.
[[nodiscard]] std::vector<GainStep> gain_steps(const train::RunOptions& run,
                                               int ranks,
                                               std::int64_t batch);

}  // namespace sheaf::study
