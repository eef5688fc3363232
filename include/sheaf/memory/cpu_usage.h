#pragma once

#include <ATen/core/Tensor.h>

#include "sheaf/base/units.h"

namespace sheaf::memory {

/// Bytes of all CPU tensors of this process, as asked for. Memory that is pinned or only borrowed
/// is not counted, nor what libraries such as oneDNN keep to themselves; memory shared between
/// processes only if somebody says that it is this process's own: see count_shared().
struct CpuUsage {
  Bytes current;
  Bytes peak;
  /// Taken from the system for large tensors, in use or kept for the next ones; see cpu_reuse.h.
  Bytes reserved;
};

/// Starts to count what CPU tensors take, by an allocator that stands before LibTorch's own. Call
/// it first thing in main(), before other threads start; tensors that exist already are not
/// counted. A second call does nothing.
void count_cpu_tensors();

/// Returns zeros unless count_cpu_tensors() was called.
[[nodiscard]] CpuUsage cpu_usage();

/// Counts a tensor that lies in memory shared between processes as this process's own, for as long
/// as its memory lives. Returns a tensor with that memory to use in place of the other; the same
/// one if it is counted already, or nobody counts.
[[nodiscard]] at::Tensor count_shared(const at::Tensor& tensor);

/// Makes what is in use now the peak. What other threads allocate meanwhile may be left out of it.
void reset_cpu_peak();

}  // namespace sheaf::memory
