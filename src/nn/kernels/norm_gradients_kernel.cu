#include <algorithm>

#include "launch.cuh"
#include "norm_rows.cuh"
#include "norm_rows_kernel.h"

// See Note [Rows of a norm]. With n = (x - mean) inverse and g' = g weight, the gradient of x is
// inverse (g' - mean(g') - n mean(g' n)); the root mean square lacks mean(g').

namespace sheaf::nn {
namespace {

/// Rounds the product, so that what is taken away later is the same number: rows of equal gradients
/// have none.
__device__ inline float product(float x, float y) { return __fmul_rn(x, y); }

/// Rows are cheap to widen again and dear to keep wide.
template <class T>
struct RowChunk {
  Chunk<T> x;
  Chunk<T> gradient;
  Chunk<T> residual;
  float mean;
  float inverse;
};

template <class T>
__device__ RowChunk<T> load_row(const NormGradientRows& all,
                                std::int64_t row,
                                std::int64_t column,
                                bool has_columns) {
  RowChunk<T> result{};
  if (row >= all.num_rows) return result;
  if (all.mean != nullptr) result.mean = all.mean[row];
  result.inverse = all.inverse[row];
  if (!has_columns) return result;
  const std::int64_t at = row * all.width + column;
  result.x = load_chunk(static_cast<const T*>(all.x) + at);
  result.gradient = load_chunk(static_cast<const T*>(all.of_result) + at);
  if (all.residual != nullptr) {
    result.residual = load_chunk(static_cast<const T*>(all.residual) + at);
  }
  return result;
}

/// The sums of a thread's columns over its block's rows.
struct ColumnSums {
  Floats of_weight;
  Floats of_bias;
};

/// Adds a row to the columns' sums and writes its part of the two sums along the row.
template <class T>
__device__ void add_row(const RowChunk<T>& row,
                        const Floats& weight,
                        ColumnSums& columns,
                        float* along) {
  const Floats x = widened(row.x), gradient = widened(row.gradient);
  float weighted_sum = 0, normal_sum = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const float n = normal(x.at[i], row.mean, row.inverse);
    const float weighted = product(gradient.at[i], weight.at[i]);
    weighted_sum += weighted;
    normal_sum += weighted * n;
    columns.of_weight.at[i] += gradient.at[i] * n;
    columns.of_bias.at[i] += gradient.at[i];
  }
  along[0] = weighted_sum;
  along[1] = normal_sum;
}

/// Returns the gradient of a row's chunk of x from the means along the row.
template <class T>
__device__ Floats gradient_of(const RowChunk<T>& row, const Floats& weight, float2 means) {
  const Floats x = widened(row.x), gradient = widened(row.gradient);
  const Floats residual = widened(row.residual);
  Floats result;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const float n = normal(x.at[i], row.mean, row.inverse);
    const float inner = product(gradient.at[i], weight.at[i]) - means.x - n * means.y;
    result.at[i] = inner * row.inverse + residual.at[i];
  }
  return result;
}

/// Writes a row's chunk of the norm, as its own kernel does.
template <class T>
__device__ void write_again(const NormGradientRows& all,
                            const RowChunk<T>& row,
                            const Floats& weight,
                            std::int64_t at,
                            std::int64_t column) {
  const Floats x = widened(row.x), bias = chunk_or_zeros<T>(all.bias, column, true);
  Floats result;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    result.at[i] = norm_of(x.at[i], {row.mean, row.inverse}, weight.at[i], bias.at[i]);
  }
  store_chunk(static_cast<T*>(all.again) + at, result);
}

template <class T, int kRows, int kMostThreads>
__global__ void __launch_bounds__(kMostThreads) gradient_kernel(NormGradientRows all) {
  using Sums = BlockSums<2 * kRows, kMostThreads>;
  __shared__ typename Sums::Memory memory;
  Sums block(memory);
  const std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kChunk;
  const bool has_columns = column < all.width;
  const float per_element = 1.0F / static_cast<float>(all.width);
  const float per_mean = all.mean != nullptr ? per_element : 0.0F;
  const Floats weight = chunk_or_zeros<T>(all.weight, column, has_columns);
  ColumnSums columns{};
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows; first < all.num_rows;
       first += static_cast<std::int64_t>(gridDim.x) * kRows) {
    RowChunk<T> rows[kRows];
    float along[2 * kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = load_row<T>(all, first + r, column, has_columns);
#pragma unroll
    for (int r = 0; r < kRows; ++r) add_row(rows[r], weight, columns, along + 2 * r);
    block.add_up(along);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!has_columns || first + r >= all.num_rows) continue;
      const float2 means{along[2 * r] * per_mean, along[2 * r + 1] * per_element};
      const std::int64_t at = (first + r) * all.width + column;
      store_chunk(static_cast<T*>(all.of_x) + at, gradient_of(rows[r], weight, means));
      if (all.again != nullptr) write_again(all, rows[r], weight, at, column);
    }
  }
  if (!has_columns) return;
  float* const part = all.parts + blockIdx.x * all.part_size() + column;
  store_chunk(part, columns.of_weight);
  if (all.with_bias) store_chunk(part + all.width, columns.of_bias);
}

constexpr int kAnyThreads = 256;

/// Each thread adds to its own columns of its block's part, in memory.
template <class T>
__global__ void __launch_bounds__(kAnyThreads) gradient_any_kernel(NormGradientRows all) {
  using Sums = BlockSums<2, kAnyThreads>;
  __shared__ typename Sums::Memory memory;
  Sums block(memory);
  const float per_element = 1.0F / static_cast<float>(all.width);
  const T* const weight = static_cast<const T*>(all.weight);
  float* const part = all.parts + blockIdx.x * all.part_size();
  for (std::int64_t i = threadIdx.x; i < all.width; i += kAnyThreads) {
    part[i] = 0;
    if (all.with_bias) part[all.width + i] = 0;
  }
  for (std::int64_t row = blockIdx.x; row < all.num_rows; row += gridDim.x) {
    const std::int64_t begin = row * all.width;
    const T* const x = static_cast<const T*>(all.x) + begin;
    const T* const gradient = static_cast<const T*>(all.of_result) + begin;
    const T* const residual = static_cast<const T*>(all.residual);
    const float mean = all.mean != nullptr ? all.mean[row] : 0.0F, inverse = all.inverse[row];
    float along[2] = {};
    for (std::int64_t i = threadIdx.x; i < all.width; i += kAnyThreads) {
      const float n = normal(widened(x[i]), mean, inverse), g = widened(gradient[i]);
      const float weighted = product(g, widened(weight[i]));
      along[0] += weighted;
      along[1] += weighted * n;
      part[i] += g * n;
      if (all.with_bias) part[all.width + i] += g;
    }
    block.add_up(along);
    const float of_mean = all.mean != nullptr ? along[0] * per_element : 0.0F;
    for (std::int64_t i = threadIdx.x; i < all.width; i += kAnyThreads) {
      const float n = normal(widened(x[i]), mean, inverse);
      const float weighted = product(widened(gradient[i]), widened(weight[i]));
      const float inner = weighted - of_mean - n * along[1] * per_element;
      const float added = all.residual != nullptr ? widened(residual[begin + i]) : 0.0F;
      static_cast<T*>(all.of_x)[begin + i] = narrowed(inner * inverse + added, As<T>{});
      if (all.again == nullptr) continue;
      const float bias = all.bias != nullptr ? widened(static_cast<const T*>(all.bias)[i]) : 0.0F;
      static_cast<T*>(all.again)[begin + i] =
          narrowed(norm_of(widened(x[i]), {mean, inverse}, widened(weight[i]), bias), As<T>{});
    }
  }
}

/// Narrow rows go four at a time; the wider they are, the fewer registers a thread has.
struct Shape {
  int most_threads;
  int rows;
  int blocks_per_multiprocessor;
};
constexpr Shape kNarrow{256, 4, 2}, kWide{512, 2, 1}, kWidest{1024, 1, 1};
constexpr int kAnyBlocksPerMultiprocessor = 4;

template <class T, Shape kShape>
void launch(const NormGradientRows& all, cudaStream_t queue) {
  gradient_kernel<T, kShape.rows, kShape.most_threads>
      <<<all.num_parts, static_cast<unsigned>(threads_for(all.width)), 0, queue>>>(all);
}

int parts_of(const NormGradientRows& all, int rows_per_block, int most) {
  return static_cast<int>(blocks_for(all.num_rows, rows_per_block, most));
}

}  // namespace

int num_norm_parts(const NormGradientRows& all, int num_multiprocessors) {
  const std::int64_t threads = threads_for(all.width);
  for (const Shape& shape : {kNarrow, kWide, kWidest}) {
    if (!all.in_chunks || threads > shape.most_threads) continue;
    // Of few threads there is room for more blocks.
    const auto blocks = std::clamp<std::int64_t>(480 / threads, shape.blocks_per_multiprocessor, 4);
    return parts_of(all, shape.rows, static_cast<int>(blocks) * num_multiprocessors);
  }
  return parts_of(all, 1, kAnyBlocksPerMultiprocessor * num_multiprocessors);
}

void launch_norm_gradients(const NormGradientRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  const std::int64_t threads = threads_for(all.width);
  with_type(all.type, [&]<class T>(T) {
    if (!all.in_chunks || threads > kWidest.most_threads) {
      gradient_any_kernel<T><<<all.num_parts, kAnyThreads, 0, queue>>>(all);
    } else if (threads <= kNarrow.most_threads) {
      launch<T, kNarrow>(all, queue);
    } else if (threads <= kWide.most_threads) {
      launch<T, kWide>(all, queue);
    } else {
      launch<T, kWidest>(all, queue);
    }
  });
  check_launch("a norm's gradients");
}

}  // namespace sheaf::nn
