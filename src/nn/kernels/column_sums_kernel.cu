#include "column_parts.cuh"
#include "column_sums_kernel.h"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

template <class T, int kWidth>
__global__ void __launch_bounds__(kWarp* kColumnWarps) column_parts_kernel(ColumnRows all) {
  sum_columns<kWidth, /*kUnrolled=*/4>(all, [&](std::int64_t column) {
    const T* const from = static_cast<const T*>(all.rows) + column;
    return [from, stride = all.stride](std::int64_t row) {
      return load_values<kWidth>(from + row * stride);
    };
  });
}

/// Each column of a block has a lane; the warps share the parts.
template <class T>
__global__ void __launch_bounds__(kWarp* kWarp) sum_of_parts_kernel(PartsSum all) {
  __shared__ float of_warps[kWarp][kWarp];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float sum = 0;
  if (column < all.num_columns()) {
#pragma unroll 4
    for (int part = static_cast<int>(threadIdx.y); part < all.num_parts; part += kWarp) {
      sum += all.parts[part * all.stride + column];
    }
  }
  of_warps[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= all.num_columns()) return;
  T* const target = column < all.width ? static_cast<T*>(all.target) + column
                                       : static_cast<T*>(all.second) + column - all.width;
  sum = all.adds ? widened(*target) : 0.0F;
#pragma unroll 8
  for (int warp = 0; warp < kWarp; ++warp) sum += of_warps[warp][threadIdx.x];
  *target = narrowed(sum, As<T>{});
}

}  // namespace

void launch_column_parts(const ColumnRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    if (all.in_chunks) {
      column_parts_kernel<T, kChunk>
          <<<column_blocks<kChunk>(all), column_threads(), 0, queue>>>(all);
    } else {
      column_parts_kernel<T, 1><<<column_blocks<1>(all), column_threads(), 0, queue>>>(all);
    }
  });
  check_launch("the parts of column sums");
}

void launch_sum_of_parts(const PartsSum& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  const auto blocks = static_cast<unsigned>((all.num_columns() + kWarp - 1) / kWarp);
  with_type(all.type, [&]<class T>(T) {
    sum_of_parts_kernel<T><<<blocks, dim3(kWarp, kWarp), 0, queue>>>(all);
  });
  check_launch("column sums");
}

}  // namespace sheaf::nn
