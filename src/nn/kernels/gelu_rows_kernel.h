#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// Matrices [num_rows, width] without gaps; the rows are cut into parts with sums of their own.
struct GeluRows {
  ElementType type = ElementType::fp32;
  const void* inner = nullptr;
  /// Of gelu's result, and then of its input.
  void* gradient = nullptr;
  void* again = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  bool in_chunks = false;
  int num_parts = 1;
  /// [num_parts, width]
  float* parts = nullptr;
};

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_gelu_rows_back(const GeluRows& all, void* stream);

}  // namespace sheaf::nn
