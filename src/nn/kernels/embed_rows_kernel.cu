#include "block_sums.cuh"
#include "chunks.cuh"
#include "embed_rows_kernel.h"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMostBlocks = 16384;

/// Reads a row's columns; beyond the table there are no numbers.
template <int kWidth, class T>
__device__ Values<kWidth> row_of(
    const T* table, std::int64_t size, std::int64_t width, std::int64_t row, std::int64_t column) {
  if (row >= 0 && row < size) return load_values<kWidth>(table + row * width + column);
  Values<kWidth> none;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) none.at[i] = NAN;
  return none;
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) embed_kernel(EmbeddedRows all) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (column >= all.width) return;
  const T* const table = static_cast<const T*>(all.table);
  const T* const places = static_cast<const T*>(all.positions_table);
  for (std::int64_t row = blockIdx.y; row < all.num_rows; row += gridDim.y) {
    Values<kWidth> result =
        row_of<kWidth>(table, all.table_size, all.width, all.indices[row], column);
    if (places != nullptr) {
      const std::int64_t position =
          all.positions != nullptr ? all.positions[row] : row % all.length;
      const Values<kWidth> added =
          row_of<kWidth>(places, all.positions_size, all.width, position, column);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) result.at[i] += added.at[i];
    }
    store_values<kWidth>(static_cast<T*>(all.result) + row * all.width + column, result);
  }
}

constexpr int kWarps = 8;

/// Adds up a warp's share of the rows from `first` on that have its index: several at a time, since
/// each takes three reads that wait for one another.
template <class T, int kWidth>
__device__ Values<kWidth> sum_of_rows(const AddedRows& all,
                                      std::int64_t first,
                                      std::int64_t column) {
  constexpr int kAtOnce = 4;
  const T* const rows = static_cast<const T*>(all.rows);
  const int index = all.indices[first];
  Values<kWidth> sum{};
  bool goes_on = true;
  for (std::int64_t i = first + threadIdx.y; goes_on; i += kAtOnce * kWarps) {
    std::int64_t row[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t at = i + k * kWarps;
      row[k] = at < all.num_rows && all.indices[at] == index ? all.order[at] : -1;
    }
    Values<kWidth> x[kAtOnce] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (row[k] >= 0) x[k] = load_values<kWidth>(rows + row[k] * all.width + column);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
#pragma unroll
      for (int c = 0; c < kWidth; ++c) sum.at[c] += x[k].at[c];
    }
    goes_on = row[kAtOnce - 1] >= 0;
  }
  return sum;
}

/// The block of the first row of an index has all rows of that index: its warps take turns with
/// them, and then are added in order. All other blocks have nothing to do.
template <class T, class Target, int kWidth>
__global__ void __launch_bounds__(kWarp* kWarps) add_rows_kernel(AddedRows all) {
  __shared__ float of_warps[kWarps][kWidth][kWarp];
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x) * kWidth;
  const bool has_columns = column < all.width;
  for (std::int64_t first = blockIdx.y; first < all.num_rows; first += gridDim.y) {
    const int index = all.indices[first];
    if (first > 0 && all.indices[first - 1] == index) continue;
    if (index < 0 || index >= all.target_size) continue;
    const Values<kWidth> own =
        has_columns ? sum_of_rows<T, kWidth>(all, first, column) : Values<kWidth>{};
#pragma unroll
    for (int c = 0; c < kWidth; ++c) of_warps[threadIdx.y][c][threadIdx.x] = own.at[c];
    __syncthreads();
    if (threadIdx.y == 0 && has_columns) {
      Target* const to = static_cast<Target*>(all.target) + index * all.width + column;
      Values<kWidth> sum = load_values<kWidth>(to);
      for (int warp = 0; warp < kWarps; ++warp) {
#pragma unroll
        for (int c = 0; c < kWidth; ++c) sum.at[c] += of_warps[warp][c][threadIdx.x];
      }
      store_values<kWidth>(to, sum);
    }
    __syncthreads();
  }
}

template <class T, int kWidth>
void launch(const EmbeddedRows& all, cudaStream_t queue) {
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kThreads) * kWidth;
  const auto across = static_cast<unsigned>((all.width + kColumns - 1) / kColumns);
  const dim3 blocks(across, blocks_for(all.num_rows, 1, kMostBlocks));
  embed_kernel<T, kWidth><<<blocks, kThreads, 0, queue>>>(all);
}

template <class T, class Target, int kWidth>
void launch(const AddedRows& all, cudaStream_t queue) {
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kWarp) * kWidth;
  const auto across = static_cast<unsigned>((all.width + kColumns - 1) / kColumns);
  const dim3 blocks(across, blocks_for(all.num_rows, 1, kMostBlocks));
  add_rows_kernel<T, Target, kWidth><<<blocks, dim3(kWarp, kWarps), 0, queue>>>(all);
}

}  // namespace

void launch_embed(const EmbeddedRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    all.in_chunks ? launch<T, kChunk>(all, queue) : launch<T, 1>(all, queue);
  });
  check_launch("an embedding");
}

void launch_add_rows(const AddedRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    with_type(all.target_type, [&]<class Target>(Target) {
      all.in_chunks ? launch<T, Target, kChunk>(all, queue) : launch<T, Target, 1>(all, queue);
    });
  });
  check_launch("an embedding's gradient");
}

}  // namespace sheaf::nn
