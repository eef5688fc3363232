#pragma once

#include <cstdint>
#include <span>

#include "elements.h"

// Free of torch: nvcc reads this too.

namespace sheaf::optim {

/// Values on a GPU that are squared and added up: fp32, fp64 or bf16.
struct Squared {
  const void* values = nullptr;
  std::int64_t size = 0;
  Type type = Type::fp32;
};

/// Blocks of a launch, each of which leaves one sum.
constexpr int kSquareBlocks = 1024;
/// What one launch takes.
constexpr std::size_t kMostSquared = 64;

[[nodiscard]] constexpr std::size_t num_square_launches(std::size_t inputs) {
  return (inputs + kMostSquared - 1) / kMostSquared;
}

/// Writes the sum of the squares of all values to `sum`, in fp64 and in an order that depends on
/// the sizes alone. `partial` has room for kSquareBlocks numbers of each launch. All memory is on
/// the current CUDA device; works in `stream` (a cudaStream_t) and does not wait for it. Throws
/// Error if a kernel cannot be started.
void sum_squares_on_cuda(std::span<const Squared> all, double* partial, double* sum, void* stream);

}  // namespace sheaf::optim
