#include "block_sums.cuh"
#include "chunks.cuh"
#include "column_sums_kernel.h"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

constexpr int kWarps = 8;

/// A thread adds up kWidth columns of every eighth row of its part; then the block's warps are
/// added.
template <class T, int kWidth>
__global__ void __launch_bounds__(kWarp* kWarps) column_parts_kernel(ColumnRows all) {
  __shared__ float of_warps[kWarps][kWarp * kWidth];
  constexpr int kColumns = kWarp * kWidth;
  const T* const rows = static_cast<const T*>(all.rows);
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  const std::int64_t column = first_column + threadIdx.x * kWidth;
  const std::int64_t per_part = (all.num_rows + all.num_parts - 1) / all.num_parts;
  const std::int64_t begin = blockIdx.y * per_part;
  const std::int64_t end = min(begin + per_part, all.num_rows);
  float sums[kWidth] = {};
  if (column < all.width) {
#pragma unroll 4
    for (std::int64_t row = begin + threadIdx.y; row < end; row += kWarps) {
      const Values<kWidth> values = load_values<kWidth>(rows + row * all.stride + column);
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
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warps[warp][place];
  all.parts[blockIdx.y * all.width + first_column + place] = sum;
}

/// Each column of a block has a lane; the warps share the parts.
template <class T>
__global__ void __launch_bounds__(kWarp* kWarp) sum_of_parts_kernel(PartsSum all) {
  __shared__ float of_warps[kWarp][kWarp];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float sum = 0;
  if (column < all.width) {
#pragma unroll 4
    for (int part = static_cast<int>(threadIdx.y); part < all.num_parts; part += kWarp) {
      sum += all.parts[part * all.width + column];
    }
  }
  of_warps[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= all.width) return;
  T* const target = static_cast<T*>(all.target);
  sum = all.adds ? widened(target[column]) : 0.0F;
#pragma unroll 8
  for (int warp = 0; warp < kWarp; ++warp) sum += of_warps[warp][threadIdx.x];
  target[column] = narrowed(sum, As<T>{});
}

}  // namespace

void launch_column_parts(const ColumnRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  const dim3 blocks(static_cast<unsigned>(all.num_blocks()), static_cast<unsigned>(all.num_parts));
  const dim3 threads(kWarp, kWarps);
  with_type(all.type, [&]<class T>(T) {
    if (all.in_chunks) {
      column_parts_kernel<T, kChunk><<<blocks, threads, 0, queue>>>(all);
    } else {
      column_parts_kernel<T, 1><<<blocks, threads, 0, queue>>>(all);
    }
  });
  check_launch("the parts of column sums");
}

void launch_sum_of_parts(const PartsSum& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  const auto blocks = static_cast<unsigned>((all.width + kWarp - 1) / kWarp);
  with_type(all.type, [&]<class T>(T) {
    sum_of_parts_kernel<T><<<blocks, dim3(kWarp, kWarp), 0, queue>>>(all);
  });
  check_launch("column sums");
}

}  // namespace sheaf::nn
