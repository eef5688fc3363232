#pragma once

#include <cstdint>

#include "block_sums.cuh"
#include "chunks.cuh"

// What the kernels of norms and of their gradients have in common. Note [Rows of a norm]: rows that
// are not too wide have a warp each, which needs no barrier. A thread of the kernels for wide rows,
// and of those for gradients, has one chunk of columns for good, so it reads the weight once and
// keeps its columns' sums in registers; a block takes kRows rows at a time, all loaded before the
// first is used. Rows of other widths, or not at multiples of 16 bytes, go one at a time and
// element by element.

namespace sheaf::nn {

/// Returns the threads of a block that has a chunk of a row for each: whole warps.
inline std::int64_t threads_for(std::int64_t width) {
  constexpr std::int64_t kColumnsPerWarp = kWarp * kChunk;
  return (width + kColumnsPerWarp - 1) / kColumnsPerWarp * kWarp;
}

/// Written so that no compiler fuses it one way here and another way there: the result is made
/// twice and must be the same.
__device__ inline float normal(float x, float mean, float inverse) {
  return __fmul_rn(__fsub_rn(x, mean), inverse);
}

struct RowStatistics {
  float mean;
  float inverse;
};

/// The norm of an element, for the same reason.
__device__ inline float norm_of(float x, RowStatistics of_row, float weight, float bias) {
  return __fmaf_rn(normal(x, of_row.mean, of_row.inverse), weight, bias);
}

template <class T>
__device__ inline Floats chunk_or_zeros(const void* from, std::int64_t at, bool is_there) {
  return is_there && from != nullptr ? widened(load_chunk(static_cast<const T*>(from) + at))
                                     : Floats{};
}

}  // namespace sheaf::nn
