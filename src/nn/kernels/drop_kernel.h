#pragma once

#include "elements.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_drop(const DropElements& all, const DropRule& rule, void* stream);

}  // namespace sheaf::nn
