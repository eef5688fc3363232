#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// Values, the factor in device memory, and where their product goes.
struct ScaledValues {
  ElementType from = ElementType::fp32;
  ElementType to = ElementType::fp32;
  const void* values = nullptr;
  void* target = nullptr;
  std::int64_t size = 0;
  const float* factor = nullptr;
  bool adds = false;
  /// Whether both can be taken in chunks from their beginning.
  bool in_chunks = false;
};

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_put_scaled(const ScaledValues& all, void* stream);

}  // namespace sheaf::nn
