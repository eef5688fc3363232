#pragma once

#include <cstdint>

#include "block_sums.cuh"
#include "chunks.cuh"

// What kernels that add up columns, on the way or as their only work, have in common.

namespace sheaf::nn {

constexpr int kColumnWarps = 8;

/// Adds up columns of the rows of this block's part, and writes the sums as the part's: a thread has
/// kWidth columns of every eighth row, then the block's warps are added up. `at(column)` returns what
/// takes the values from that column on of a row. `All` has num_rows, width, num_parts and parts.
template <int kWidth, int kUnrolled, class All, class At>
__device__ void sum_columns(const All& all, const At& at) {
  __shared__ float of_warps[kColumnWarps][kWarp * kWidth];
  constexpr int kColumns = kWarp * kWidth;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  const std::int64_t column = first_column + threadIdx.x * kWidth;
  const std::int64_t per_part = (all.num_rows + all.num_parts - 1) / all.num_parts;
  const std::int64_t begin = blockIdx.y * per_part;
  const std::int64_t end = min(begin + per_part, all.num_rows);
  float sums[kWidth] = {};
  if (column < all.width) {
    const auto take = at(column);
#pragma unroll kUnrolled
    for (std::int64_t row = begin + threadIdx.y; row < end; row += kColumnWarps) {
      const Values<kWidth> values = take(row);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sums[i] += values.at[i];
    }
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) of_warps[threadIdx.y][threadIdx.x * kWidth + i] = sums[i];
  __syncthreads();
  const int place = static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x);
  if (place >= kColumns || first_column + place >= all.width) return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kColumnWarps; ++warp) sum += of_warps[warp][place];
  all.parts[blockIdx.y * all.width + first_column + place] = sum;
}

/// Threads of a block that calls sum_columns, and the blocks.
inline dim3 column_threads() { return {kWarp, kColumnWarps}; }

template <int kWidth, class All>
dim3 column_blocks(const All& all) {
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kWarp) * kWidth;
  return {static_cast<unsigned>((all.width + kColumns - 1) / kColumns),
          static_cast<unsigned>(all.num_parts)};
}

}  // namespace sheaf::nn
