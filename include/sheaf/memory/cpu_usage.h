#pragma once

#include "sheaf/base/units.h"

namespace sheaf::memory {

/// Bytes of all CPU tensors of this process, as asked for. Memory that is pinned, shared between
/// processes or only borrowed is not counted, nor what libraries such as oneDNN keep to themselves.
struct CpuUsage {
  Bytes current;
  Bytes peak;
};

/// Starts to count what CPU tensors take, by an allocator that stands before LibTorch's own. Call
/// it first thing in main(), before other threads start; tensors that exist already are not
/// counted. A second call does nothing.
void count_cpu_tensors();

/// Returns zeros unless count_cpu_tensors() was called.
[[nodiscard]] CpuUsage cpu_usage();

/// Makes what is in use now the peak. What other threads allocate meanwhile may be left out of it.
void reset_cpu_peak();

}  // namespace sheaf::memory
