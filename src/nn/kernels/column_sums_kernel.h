#pragma once

#include <cstdint>
#include <span>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// A matrix whose rows are cut into parts, each of which gets sums of its own.
struct ColumnRows {
  ElementType type = ElementType::fp32;
  const void* rows = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  /// Elements from one row to the next.
  std::int64_t stride = 0;
  /// Whether rows can be read in chunks.
  bool in_chunks = false;
  int num_parts = 1;
  /// [num_parts, width]
  float* parts = nullptr;

  /// Returns how many blocks share the columns of a part.
  [[nodiscard]] std::int64_t num_blocks() const {
    const std::int64_t columns = in_chunks ? 256 : 32;
    return (width + columns - 1) / columns;
  }
};

/// Returns as many parts as keep all multiprocessors busy, of not too few rows each.
[[nodiscard]] int num_column_parts(const ColumnRows& all, int num_multiprocessors);

/// Sums of parts and where their total goes.
struct PartsSum {
  const float* parts = nullptr;
  int num_parts = 0;
  /// Elements from one part to the next.
  std::int64_t stride = 0;
  std::int64_t width = 0;
  ElementType type = ElementType::fp32;
  void* target = nullptr;
  bool adds = false;
};

/// Both start kernels in `stream`, a cudaStream_t of the current device, and throw Error if they
/// cannot.
void launch_column_parts(const ColumnRows& all, void* stream);
/// Takes as many sums at a time as fit.
void launch_sums_of_parts(std::span<const PartsSum> all, void* stream);

}  // namespace sheaf::nn
