#pragma once

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
  /// While one of them runs and none of a class before it, in the order of kKernelClasses: what all
  /// classes take adds up to the moments at which something runs.
  double ms = 0;
  /// All of them one after the other. A kernel beside others takes longer than one alone.
  double running_ms = 0;
  double calls = 0;
  /// The costliest first.
  std::vector<KernelUse> kernels;
};

/// Where a step's time on the GPU goes.
struct Budget {
  std::map<KernelClass, ClassUse> classes;
  /// While at least one kernel or copy runs.
  double busy_ms = 0;
  /// While none does, inside of a recorded step.
  double gaps_ms = 0;

  /// Returns how long a recorded step was. One that nobody records may differ: the recorder costs
  /// nothing then, and the card's clocks are another moment's.
  [[nodiscard]] double recorded_ms() const { return busy_ms + gaps_ms; }
};

/// Adds up a trace by the steps that it marks. Throws Error if there are none.
[[nodiscard]] Budget budget_of(const profile::Trace& trace);

}  // namespace sheaf::bench
