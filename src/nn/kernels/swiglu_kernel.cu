#include "swiglu_kernel.h"

#include "chunks.cuh"
#include "exponential.cuh"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMostBlocks = 16384;

template <class T>
__device__ inline float sigmoid(float x) {
  return quotient<T>(1.0F, 1.0F + exponential<T>(-x));
}

template <int kWidth, class T>
__device__ Values<kWidth> read(const GateMatrix<const void>& from,
                               std::int64_t row,
                               std::int64_t column) {
  return load_values<kWidth>(static_cast<const T*>(from.memory) + row * from.stride + column);
}

template <int kWidth, class T>
__device__ void write(const GateMatrix<void>& to,
                      std::int64_t row,
                      std::int64_t column,
                      const Values<kWidth>& values) {
  if (to.memory == nullptr) return;
  store_values<kWidth>(static_cast<T*>(to.memory) + row * to.stride + column, values);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) swiglu_kernel(GateRows all) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (column >= all.hidden) return;
  for (std::int64_t row = blockIdx.y; row < all.num_rows; row += gridDim.y) {
    const Values<kWidth> gate = read<kWidth, T>(all.gate, row, column);
    const Values<kWidth> up = read<kWidth, T>(all.up, row, column);
    Values<kWidth> result;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      result.at[i] = gate.at[i] * sigmoid<T>(gate.at[i]) * up.at[i];
    }
    write<kWidth, T>(all.result, row, column, result);
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) swiglu_gradient_kernel(GateRows all) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (column >= all.hidden) return;
  for (std::int64_t row = blockIdx.y; row < all.num_rows; row += gridDim.y) {
    const Values<kWidth> gate = read<kWidth, T>(all.gate, row, column);
    const Values<kWidth> up = read<kWidth, T>(all.up, row, column);
    const Values<kWidth> gradient = read<kWidth, T>(all.of_result, row, column);
    Values<kWidth> result, of_gate, of_up;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float s = sigmoid<T>(gate.at[i]);
      const float silu = gate.at[i] * s;
      result.at[i] = silu * up.at[i];
      of_gate.at[i] = gradient.at[i] * up.at[i] * (s + silu * (1.0F - s));
      of_up.at[i] = gradient.at[i] * silu;
    }
    write<kWidth, T>(all.result, row, column, result);
    write<kWidth, T>(all.of_gate, row, column, of_gate);
    write<kWidth, T>(all.of_up, row, column, of_up);
  }
}

template <class T, int kWidth>
void launch(const GateRows& all, cudaStream_t queue) {
  constexpr std::int64_t kColumns = static_cast<std::int64_t>(kThreads) * kWidth;
  const std::int64_t across = (all.hidden + kColumns - 1) / kColumns;
  const unsigned down =
      blocks_for(all.num_rows, 1, std::max<std::int64_t>(kMostBlocks / across, 1));
  const dim3 blocks(static_cast<unsigned>(across), down);
  if (all.of_result.memory == nullptr) {
    swiglu_kernel<T, kWidth><<<blocks, kThreads, 0, queue>>>(all);
  } else {
    swiglu_gradient_kernel<T, kWidth><<<blocks, kThreads, 0, queue>>>(all);
  }
}

}  // namespace

void launch_swiglu(const GateRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    all.in_chunks ? launch<T, kChunk>(all, queue) : launch<T, 1>(all, queue);
  });
  check_launch("SwiGLU");
}

}  // namespace sheaf::nn
