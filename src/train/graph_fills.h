#pragma once

#include <cuda_runtime_api.h>

namespace sheaf::train {

// Note [Fills by kernels]
// cuDNN and cuBLASLt zero counters and workspaces before many of their kernels, so a recorded step
// has memset nodes of some bytes by the hundred. A kernel that follows a kernel starts after less
// than a microsecond, but a memset costs several, on each of its sides. Kernels that write the same
// bytes take their place.

/// Replaces small memset nodes of a graph that is not instantiated yet by kernels with the same
/// dependencies. Returns how many; nodes of graphs within the graph stay as they are. Throws
/// c10::Error where CUDA refuses, and then the graph is of no use.
int fill_by_kernels(cudaGraph_t graph);

}  // namespace sheaf::train
