#include "chunks.cuh"
#include "launch.cuh"
#include "rotary_rows_kernel.h"

namespace sheaf::nn {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 16;
// Heads that share the angles a thread has read.
constexpr int kHeads = 4;

template <int kWidth>
struct Turned {
  Values<kWidth> low;
  Values<kWidth> high;
};

template <int kWidth>
__device__ Turned<kWidth> turned(const Turned<kWidth>& x,
                                 const Values<kWidth>& cosines,
                                 const Values<kWidth>& sines) {
  Turned<kWidth> result;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    result.low.at[i] = x.low.at[i] * cosines.at[i] - x.high.at[i] * sines.at[i];
    result.high.at[i] = x.high.at[i] * cosines.at[i] + x.low.at[i] * sines.at[i];
  }
  return result;
}

/// A thread has kWidth pairs of some heads of one position. It reads all before it writes any.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) rotate_kernel(RotaryRows all, std::int64_t num_items) {
  const std::int64_t per_head = all.half / kWidth;
  const std::int64_t groups = (all.num_heads + kHeads - 1) / kHeads;
  const std::int64_t apart = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; item < num_items; item += apart) {
    const std::int64_t column = item % per_head * kWidth;
    const std::int64_t group = item / per_head % groups;
    const std::int64_t place = item / per_head / groups;
    const std::int64_t text = place / all.length, position = place % all.length;
    const std::int64_t angle =
        text * all.table_strides.text + position * all.table_strides.position + column;
    const T* const from = static_cast<const T*>(all.from) + text * all.from_strides.text +
                          position * all.from_strides.position + column;
    T* const to = static_cast<T*>(all.to) + text * all.to_strides.text +
                  position * all.to_strides.position + column;
    const Values<kWidth> cosines = load_values<kWidth>(all.cosines + angle);
    Values<kWidth> sines = load_values<kWidth>(all.sines + angle);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sines.at[i] *= all.sign;
    Turned<kWidth> x[kHeads];
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if (group * kHeads + h >= all.num_heads) break;
      const T* const head = from + (group * kHeads + h) * all.from_strides.head;
      x[h] = {load_values<kWidth>(head), load_values<kWidth>(head + all.half)};
    }
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if (group * kHeads + h >= all.num_heads) break;
      T* const head = to + (group * kHeads + h) * all.to_strides.head;
      const Turned<kWidth> result = turned(x[h], cosines, sines);
      store_values<kWidth>(head, result.low);
      store_values<kWidth>(head + all.half, result.high);
    }
  }
}

template <class T, int kWidth>
void launch(const RotaryRows& all, cudaStream_t queue) {
  const std::int64_t groups = (all.num_heads + kHeads - 1) / kHeads;
  const std::int64_t items = all.num_texts * all.length * groups * (all.half / kWidth);
  rotate_kernel<T, kWidth>
      <<<blocks_for(items, kThreads, kMostBlocks), kThreads, 0, queue>>>(all, items);
}

}  // namespace

void launch_rotate(const RotaryRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    all.in_chunks ? launch<T, kChunk>(all, queue) : launch<T, 1>(all, queue);
  });
  check_launch("rotary positions");
}

}  // namespace sheaf::nn
