#include "norm_rows_kernel.h"

#include "block_sums.cuh"
#include "chunks.cuh"
#include "launch.cuh"
#include "norm_rows.cuh"

namespace sheaf::nn {
namespace {

__device__ float sum_of(const Floats& x) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) sum += x.at[i];
  return sum;
}

__device__ float square_sum_of(const Floats& x, float mean) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const float off = x.at[i] - mean;
    sum += off * off;
  }
  return sum;
}

constexpr int kWarpsPerBlock = 4;
/// Chunks of a row that a lane can have; with more it would run out of registers.
constexpr int kMostChunks = 7;

/// A row in the registers of a warp: the chunks of a lane lie a warp's width apart.
template <class T, int kChunks>
struct WarpRow {
  __device__ WarpRow(const NormRows& all, std::int64_t row) : width(all.width) {
    const T* const x = static_cast<const T*>(all.x) + row * all.width;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      chunks[c] = has(c) ? load_chunk(x + column(c)) : Chunk<T>{};
    }
  }

  __device__ static std::int64_t column(int c) {
    return static_cast<std::int64_t>(c * kWarp + static_cast<int>(threadIdx.x) % kWarp) * kChunk;
  }
  __device__ bool has(int c) const { return column(c) < width; }

  /// Columns that there are not add nothing: they are zeros.
  __device__ float sum() const {
    float sum = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) sum += sum_of(widened(chunks[c]));
    return warp_sum(sum);
  }
  __device__ float square_sum(float mean) const {
    float sum = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (has(c)) sum += square_sum_of(widened(chunks[c]), mean);
    }
    return warp_sum(sum);
  }

  std::int64_t width;
  Chunk<T> chunks[kChunks];
};

template <class T, int kChunks>
__global__ void __launch_bounds__(kWarp* kWarpsPerBlock) norm_of_warp_kernel(NormRows all) {
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kWarp;
  if (row >= all.num_rows) return;
  const WarpRow<T, kChunks> x(all, row);
  const float per_element = 1.0F / static_cast<float>(all.width);
  const float mean = all.mean != nullptr ? x.sum() * per_element : 0.0F;
  const float inverse = __frsqrt_rn(x.square_sum(mean) * per_element + all.epsilon);
  if (threadIdx.x % kWarp == 0) {
    if (all.mean != nullptr) all.mean[row] = mean;
    all.inverse[row] = inverse;
  }
  T* const result = static_cast<T*>(all.result) + row * all.width;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    if (!x.has(c)) continue;
    const Floats values = widened(x.chunks[c]);
    const Floats weight = chunk_or_zeros<T>(all.weight, x.column(c), true);
    const Floats bias = chunk_or_zeros<T>(all.bias, x.column(c), true);
    Floats y;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      y.at[i] = norm_of(values.at[i], {mean, inverse}, weight.at[i], bias.at[i]);
    }
    store_chunk(result + x.column(c), y);
  }
}

template <class T, int kRows, int kMostThreads>
__global__ void __launch_bounds__(kMostThreads) norm_kernel(NormRows all) {
  using Sums = BlockSums<kRows, kMostThreads>;
  __shared__ typename Sums::Memory memory;
  Sums block(memory);
  const std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kChunk;
  const bool has_columns = column < all.width;
  const float per_element = 1.0F / static_cast<float>(all.width);
  const Floats weight = chunk_or_zeros<T>(all.weight, column, has_columns);
  const Floats bias = chunk_or_zeros<T>(all.bias, column, has_columns);
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows; first < all.num_rows;
       first += static_cast<std::int64_t>(gridDim.x) * kRows) {
    Floats x[kRows];
    float mean[kRows] = {}, inverse[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const bool is_there = has_columns && first + r < all.num_rows;
      x[r] = chunk_or_zeros<T>(all.x, (first + r) * all.width + column, is_there);
    }
    if (all.mean != nullptr) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) mean[r] = sum_of(x[r]);
      block.add_up(mean);
#pragma unroll
      for (int r = 0; r < kRows; ++r) mean[r] *= per_element;
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      inverse[r] = has_columns ? square_sum_of(x[r], mean[r]) : 0.0F;
    }
    block.add_up(inverse);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      inverse[r] = __frsqrt_rn(inverse[r] * per_element + all.epsilon);
      if (threadIdx.x != 0 || first + r >= all.num_rows) continue;
      if (all.mean != nullptr) all.mean[first + r] = mean[r];
      all.inverse[first + r] = inverse[r];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_columns || first + r >= all.num_rows) continue;
      Floats y;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        y.at[i] = norm_of(x[r].at[i], {mean[r], inverse[r]}, weight.at[i], bias.at[i]);
      }
      store_chunk(static_cast<T*>(all.result) + (first + r) * all.width + column, y);
    }
  }
}

constexpr int kAnyThreads = 256;

template <class T>
__global__ void __launch_bounds__(kAnyThreads) norm_any_kernel(NormRows all) {
  using Sums = BlockSums<1, kAnyThreads>;
  __shared__ typename Sums::Memory memory;
  Sums block(memory);
  const float per_element = 1.0F / static_cast<float>(all.width);
  const T* const weight = static_cast<const T*>(all.weight);
  const T* const bias = static_cast<const T*>(all.bias);
  for (std::int64_t row = blockIdx.x; row < all.num_rows; row += gridDim.x) {
    const T* const x = static_cast<const T*>(all.x) + row * all.width;
    T* const result = static_cast<T*>(all.result) + row * all.width;
    float mean[1] = {}, inverse[1] = {};
    if (all.mean != nullptr) {
      for (std::int64_t i = threadIdx.x; i < all.width; i += kAnyThreads) mean[0] += widened(x[i]);
      block.add_up(mean);
      mean[0] *= per_element;
    }
    for (std::int64_t i = threadIdx.x; i < all.width; i += kAnyThreads) {
      const float off = widened(x[i]) - mean[0];
      inverse[0] += off * off;
    }
    block.add_up(inverse);
    inverse[0] = __frsqrt_rn(inverse[0] * per_element + all.epsilon);
    if (threadIdx.x == 0) {
      if (all.mean != nullptr) all.mean[row] = mean[0];
      all.inverse[row] = inverse[0];
    }
    for (std::int64_t i = threadIdx.x; i < all.width; i += kAnyThreads) {
      const float added = bias != nullptr ? widened(bias[i]) : 0.0F;
      result[i] = narrowed(norm_of(widened(x[i]), {mean[0], inverse[0]}, widened(weight[i]), added),
                           As<T>{});
    }
  }
}

/// Takes the kernel whose lanes have as many chunks as these rows need.
template <class T, int kChunks>
void launch_warps(const NormRows& all, cudaStream_t queue) {
  if constexpr (kChunks <= kMostChunks) {
    if (all.width > static_cast<std::int64_t>(kChunks) * kWarp * kChunk) {
      return launch_warps<T, kChunks + 1>(all, queue);
    }
    const auto blocks = static_cast<unsigned>((all.num_rows + kWarpsPerBlock - 1) / kWarpsPerBlock);
    norm_of_warp_kernel<T, kChunks><<<blocks, kWarp * kWarpsPerBlock, 0, queue>>>(all);
  }
}

template <class T>
void launch(const NormRows& all, cudaStream_t queue) {
  constexpr std::int64_t kMostBlocks = 4096;
  constexpr std::int64_t kWidestOfWarp = static_cast<std::int64_t>(kMostChunks) * kWarp * kChunk;
  constexpr int kFew = 256, kMany = 1024, kRowsOfFew = 4, kRowsOfMany = 2;
  const std::int64_t wanted = threads_for(all.width);
  const auto threads = static_cast<unsigned>(wanted);
  if (!all.in_chunks || wanted > kMany) {
    const unsigned blocks = blocks_for(all.num_rows, 1, kMostBlocks);
    norm_any_kernel<T><<<blocks, kAnyThreads, 0, queue>>>(all);
  } else if (all.width <= kWidestOfWarp) {
    launch_warps<T, 1>(all, queue);
  } else if (wanted <= kFew) {
    const unsigned blocks = blocks_for(all.num_rows, kRowsOfFew, kMostBlocks);
    norm_kernel<T, kRowsOfFew, kFew><<<blocks, threads, 0, queue>>>(all);
  } else {
    const unsigned blocks = blocks_for(all.num_rows, kRowsOfMany, kMostBlocks);
    norm_kernel<T, kRowsOfMany, kMany><<<blocks, threads, 0, queue>>>(all);
  }
}

}  // namespace

void launch_norm(const NormRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) { launch<T>(all, queue); });
  check_launch("a norm");
}

}  // namespace sheaf::nn
