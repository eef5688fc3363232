#pragma once

#include "elements.h"

// Free of torch: nvcc reads this too.

namespace sheaf::optim {

/// Steps all elements, which are on the current CUDA device, in `stream` (a cudaStream_t); does not
/// wait for it. Throws Error if the kernel cannot be started.
void adam_on_cuda(const Elements& all, const AdamFactors<double>& by, void* stream);
void sgd_on_cuda(const Elements& all, const SgdFactors<double>& by, void* stream);

}  // namespace sheaf::optim
