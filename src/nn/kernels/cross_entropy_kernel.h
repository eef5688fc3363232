#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

struct LogitsRows {
  ElementType type = ElementType::fp32;
  /// Become the gradient if that is wanted.
  void* logits = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t vocabulary = 0;
  /// Elements from one row to the next.
  std::int64_t stride = 0;
  const std::int64_t* targets = nullptr;
  std::int64_t ignored = -100;
  bool with_gradient = true;
  /// One per row.
  float* losses = nullptr;
  /// Their sum.
  double* loss = nullptr;
};

/// Starts two kernels in `stream`, a cudaStream_t of the current device: the rows', and that of the
/// sum of their losses. Throws Error if it cannot.
void launch_cross_entropy(const LogitsRows& all, void* stream);

}  // namespace sheaf::nn
