#include "gelu_rows_kernel.h"

#include "block_sums.cuh"
#include "chunks.cuh"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

constexpr int kWarps = 8;

struct Gelu {
  float value;
  float slope;
};

/// gelu by tanh, and its derivative; tanh by the exponential, which is exact enough for both.
__device__ inline Gelu gelu_at(float x) {
  constexpr float kRoot = 0.7978845608028654F;  // sqrt(2 / pi)
  constexpr float kCubic = 0.044715F;
  const float square = x * x;
  const float u = kRoot * x * (1.0F + kCubic * square);
  const float t = 1.0F - __fdividef(2.0F, 1.0F + __expf(2.0F * u));
  const float half = 0.5F * (1.0F + t);
  return {x * half, half + 0.5F * x * (1.0F - t * t) * kRoot * (1.0F + 3.0F * kCubic * square)};
}

/// As column_parts_kernel, with the gradient made on the way.
template <class T, int kWidth>
__global__ void __launch_bounds__(kWarp* kWarps) gelu_rows_back_kernel(GeluRows all) {
  __shared__ float of_warps[kWarps][kWarp * kWidth];
  constexpr int kColumns = kWarp * kWidth;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  const std::int64_t column = first_column + threadIdx.x * kWidth;
  const std::int64_t per_part = (all.num_rows + all.num_parts - 1) / all.num_parts;
  const std::int64_t begin = blockIdx.y * per_part;
  const std::int64_t end = min(begin + per_part, all.num_rows);
  float sums[kWidth] = {};
  if (column < all.width) {
#pragma unroll 2
    for (std::int64_t row = begin + threadIdx.y; row < end; row += kWarps) {
      const std::int64_t place = row * all.width + column;
      const Values<kWidth> inner = load_values<kWidth>(static_cast<const T*>(all.inner) + place);
      Values<kWidth> gradient = load_values<kWidth>(static_cast<const T*>(all.gradient) + place);
      Values<kWidth> again;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const Gelu gelu = gelu_at(inner.at[i]);
        again.at[i] = gelu.value;
        gradient.at[i] *= gelu.slope;
        sums[i] += gradient.at[i];
      }
      store_values<kWidth>(static_cast<T*>(all.gradient) + place, gradient);
      store_values<kWidth>(static_cast<T*>(all.again) + place, again);
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

template <class T, int kWidth>
void launch(const GeluRows& all, cudaStream_t queue) {
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kWarp) * kWidth;
  const dim3 blocks(static_cast<unsigned>((all.width + kColumns - 1) / kColumns),
                    static_cast<unsigned>(all.num_parts));
  gelu_rows_back_kernel<T, kWidth><<<blocks, dim3(kWarp, kWarps), 0, queue>>>(all);
}

}  // namespace

void launch_gelu_rows_back(const GeluRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    all.in_chunks ? launch<T, kChunk>(all, queue) : launch<T, 1>(all, queue);
  });
  check_launch("gelu's gradient");
}

}  // namespace sheaf::nn
