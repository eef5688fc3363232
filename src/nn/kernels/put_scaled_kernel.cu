#include "put_scaled_kernel.h"

#include "chunks.cuh"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 8192;

template <class From, class To, int kWidth>
__device__ void put(const ScaledValues& all, std::int64_t at, float factor) {
  To* const target = static_cast<To*>(all.target) + at;
  Values<kWidth> values = load_values<kWidth>(static_cast<const From*>(all.values) + at);
  Values<kWidth> there{};
  if (all.adds) there = load_values<kWidth>(target);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) values.at[i] = values.at[i] * factor + there.at[i];
  store_values<kWidth>(target, values);
}

/// What is left behind the last chunk goes to the first threads.
template <class From, class To, int kWidth>
__global__ void __launch_bounds__(kThreads) put_scaled_kernel(ScaledValues all) {
  const float factor = *all.factor;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t chunks = all.size / kWidth;
  for (std::int64_t chunk = thread; chunk < chunks;
       chunk += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    put<From, To, kWidth>(all, chunk * kWidth, factor);
  }
  const std::int64_t rest = chunks * kWidth + thread;
  if (rest < all.size) put<From, To, 1>(all, rest, factor);
}

template <class From, class To, int kWidth>
void launch(const ScaledValues& all, cudaStream_t queue) {
  const unsigned blocks = blocks_for(all.size, std::int64_t{kThreads} * kWidth, kMostBlocks);
  put_scaled_kernel<From, To, kWidth><<<blocks, kThreads, 0, queue>>>(all);
}

}  // namespace

void launch_put_scaled(const ScaledValues& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.from, [&]<class From>(From) {
    with_type(all.to, [&]<class To>(To) {
      all.in_chunks ? launch<From, To, kChunk>(all, queue) : launch<From, To, 1>(all, queue);
    });
  });
  check_launch("scaled values");
}

}  // namespace sheaf::nn
