#pragma once

#include <span>

#include "elements.h"

// Free of torch: nvcc reads this too.

namespace sheaf::optim {

/// Elements on a GPU and the numbers of their step. Where `kept` is not null the kernel takes these
/// from there, when it runs: device memory with the numbers in their order, so that a recorded
/// kernel can be run again with others.
template <class Factors>
struct CudaRun {
  Elements all;
  Factors given = {};
  const double* kept = nullptr;
};

/// Step the elements of all runs, which are on the current CUDA device and have the same types, in
/// `stream` (a cudaStream_t); do not wait for it. Throw Error if a kernel cannot be started.
void adam_on_cuda(std::span<const CudaRun<AdamFactors<double>>> runs, void* stream);
void sgd_on_cuda(std::span<const CudaRun<SgdFactors<double>>> runs, void* stream);

}  // namespace sheaf::optim
