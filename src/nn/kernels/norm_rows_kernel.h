#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// Rows without gaps and what their norm needs.
struct NormRows {
  ElementType type = ElementType::fp32;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  /// Whether all can be read and written in chunks.
  bool in_chunks = false;
  const void* x = nullptr;
  const void* weight = nullptr;
  /// Null: adds nothing.
  const void* bias = nullptr;
  float epsilon = 0;
  /// One per row; null for the root mean square.
  float* mean = nullptr;
  float* inverse = nullptr;
  void* result = nullptr;
};

/// What the gradients need; those of weight and bias come in parts, one for each block.
struct NormGradientRows {
  ElementType type = ElementType::fp32;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  bool in_chunks = false;
  const void* of_result = nullptr;
  const void* x = nullptr;
  const void* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  /// Null: adds nothing.
  const void* residual = nullptr;
  void* of_x = nullptr;
  /// Gets the norm once more; null: it is not wanted.
  void* again = nullptr;
  /// The norm's, for `again`; null: adds nothing.
  const void* bias = nullptr;
  /// Whether the bias's gradient is wanted.
  bool with_bias = false;
  int num_parts = 1;
  /// [num_parts, width], or [num_parts, 2 width] with the bias's behind the weight's.
  float* parts = nullptr;

  [[nodiscard]] constexpr std::int64_t part_size() const { return with_bias ? 2 * width : width; }
};

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_norm(const NormRows& all, void* stream);

/// Returns how many blocks the gradients' kernel should have, and so parts.
[[nodiscard]] int num_norm_parts(const NormGradientRows& all, int num_multiprocessors);

/// As launch_norm.
void launch_norm_gradients(const NormGradientRows& all, void* stream);

}  // namespace sheaf::nn
