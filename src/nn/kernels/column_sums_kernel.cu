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

/// Sums that one launch takes, each with blocks of its own.
struct PartsSums {
  static constexpr int kMost = 8;

  PartsSum each[kMost];
  unsigned first_block[kMost];
  int count;
};

/// Columns that a thread can take at a time.
constexpr int kWide = 4;

/// Says whether columns can be taken so: parts begin at multiples of 16 bytes.
__host__ __device__ inline bool fits_wide(const PartsSum& all) {
  return all.width % kWide == 0 && all.stride % kWide == 0 &&
         reinterpret_cast<std::uintptr_t>(all.parts) % sizeof(float4) == 0;
}

template <int kWidth>
__device__ Values<kWidth> load_floats(const float* from) {
  if constexpr (kWidth == kWide) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    return {{all.x, all.y, all.z, all.w}};
  } else {
    return {{*from}};
  }
}

template <class T>
__device__ void put(const PartsSum& all, std::int64_t column, float sum) {
  T* const target = static_cast<T*>(all.target) + column;
  if (all.adds) sum += widened(*target);
  *target = narrowed(sum, As<T>{});
}

/// A thread adds up kWidth columns of the parts of its warp, then the warps are added up.
template <int kWidth>
__device__ void sum_parts(const PartsSum& all, std::int64_t block) {
  constexpr int kColumns = kWarp * kWidth;
  __shared__ float of_warps[kWarp][kColumns];
  const std::int64_t first = block * kColumns, own = threadIdx.x * kWidth;
  Values<kWidth> sums{};
  if (first + own < all.width) {
#pragma unroll 8
    for (int part = static_cast<int>(threadIdx.y); part < all.num_parts; part += kWarp) {
      const auto values = load_floats<kWidth>(all.parts + part * all.stride + first + own);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sums.at[i] += values.at[i];
    }
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) of_warps[threadIdx.y][own + i] = sums.at[i];
  __syncthreads();
  const int place = static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x);
  if (place >= kColumns || first + place >= all.width) return;
  float sum = 0;
#pragma unroll 8
  for (int warp = 0; warp < kWarp; ++warp) sum += of_warps[warp][place];
  switch (all.type) {
    case ElementType::fp32:
      return put<float>(all, first + place, sum);
    case ElementType::bf16:
      return put<__nv_bfloat16>(all, first + place, sum);
    case ElementType::fp16:
      return put<__half>(all, first + place, sum);
  }
}

__global__ void __launch_bounds__(kWarp* kWarp)
    sums_of_parts_kernel(const __grid_constant__ PartsSums sums) {
  int which = 0;
  while (which + 1 < sums.count && sums.first_block[which + 1] <= blockIdx.x) ++which;
  const PartsSum& all = sums.each[which];
  const std::int64_t block = blockIdx.x - sums.first_block[which];
  if (fits_wide(all)) {
    sum_parts<kWide>(all, block);
  } else {
    sum_parts<1>(all, block);
  }
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

void launch_sums_of_parts(std::span<const PartsSum> all, void* stream) {
  while (!all.empty()) {
    PartsSums sums{};
    unsigned blocks = 0;
    for (const PartsSum& sum : all.first(std::min<std::size_t>(all.size(), PartsSums::kMost))) {
      sums.first_block[sums.count] = blocks;
      sums.each[sums.count++] = sum;
      const std::int64_t columns = fits_wide(sum) ? kWarp * kWide : kWarp;
      blocks += static_cast<unsigned>((sum.width + columns - 1) / columns);
    }
    sums_of_parts_kernel<<<blocks, dim3(kWarp, kWarp), 0, static_cast<cudaStream_t>(stream)>>>(
        sums);
    check_launch("column sums");
    all = all.subspan(static_cast<std::size_t>(sums.count));
  }
}

}  // namespace sheaf::nn
