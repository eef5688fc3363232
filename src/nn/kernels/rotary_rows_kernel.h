#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// Elements from one text, position or head to the next.
struct HeadStrides {
  std::int64_t text = 0;
  std::int64_t position = 0;
  std::int64_t head = 0;
};

struct RotaryRows {
  ElementType type = ElementType::fp32;
  const void* from = nullptr;
  HeadStrides from_strides;
  void* to = nullptr;
  HeadStrides to_strides;
  std::int64_t num_texts = 0;
  std::int64_t length = 0;
  std::int64_t num_heads = 0;
  /// Half the size of a head.
  std::int64_t half = 0;
  /// Whether halves can be read and written in chunks.
  bool in_chunks = false;
  const float* cosines = nullptr;
  const float* sines = nullptr;
  /// The stride of texts is 0 where all have the same angles; `head` does not count.
  HeadStrides table_strides;
  float sign = 1;
};

/// Starts the kernel in `stream`, a cudaStream_t of the current device. Throws Error if it cannot.
void launch_rotate(const RotaryRows& all, void* stream);

}  // namespace sheaf::nn
