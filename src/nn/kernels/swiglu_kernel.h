#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// A matrix to read or to write; null where it is not wanted.
template <class Memory>
struct GateMatrix {
  Memory* memory = nullptr;
  /// Elements from one row to the next.
  std::int64_t stride = 0;
};

struct GateRows {
  ElementType type = ElementType::fp32;
  std::int64_t num_rows = 0;
  std::int64_t hidden = 0;
  /// Whether all can be read and written in chunks.
  bool in_chunks = false;
  GateMatrix<const void> gate;
  GateMatrix<const void> up;
  /// silu(gate) * up.
  GateMatrix<void> result;
  /// Null in the forward pass, as the two that follow.
  GateMatrix<const void> of_result;
  GateMatrix<void> of_gate;
  GateMatrix<void> of_up;
};

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_swiglu(const GateRows& all, void* stream);

}  // namespace sheaf::nn
