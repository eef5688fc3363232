#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel_classes.h"
#include "sheaf/profile/trace.h"

namespace sheaf::bench {

/// Some kernels of a step; times are of one step.
struct KernelUse {
  std::string name;
  double ms = 0;
  double calls = 0;
};

/// What the kernels of one class take of a step.
struct ClassUse {
  double ms = 0;
  double calls = 0;
  /// The costliest first.
  std::vector<KernelUse> kernels;
};

/// Where a step's time on the GPU goes.
struct Budget {
  std::map<KernelClass, ClassUse> classes;
  /// While at least one kernel or copy runs.
  double busy_ms = 0;

  /// Returns what ran while something else did, and so does not lengthen the step.
  [[nodiscard]] double hidden_ms() const;
  /// Returns the part of a step of that length in which nothing runs.
  [[nodiscard]] double gaps_ms(double step_ms) const;
};

/// Adds up a trace of so many steps.
[[nodiscard]] Budget budget_of(const profile::Trace& trace, std::int64_t steps);

}  // namespace sheaf::bench
