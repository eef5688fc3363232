#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// Matrices without gaps in their rows that become one, side by side; the rows are cut into parts
/// with sums of their own.
struct JoinedColumns {
  static constexpr int kMost = 3;

  ElementType type = ElementType::fp32;
  int num_sources = 0;
  const void* sources[kMost] = {};
  /// Columns of each source.
  std::int64_t widths[kMost] = {};
  void* joined = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  /// Whether chunks of all sources and of the result can be read and written.
  bool in_chunks = false;
  int num_parts = 1;
  /// [num_parts, width]
  float* parts = nullptr;
};

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_join_columns(const JoinedColumns& all, void* stream);

}  // namespace sheaf::nn
