#pragma once

// Sums over the threads of a warp or a block, always in the same order.

namespace sheaf::nn {

constexpr int kWarp = 32;

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffU, x, apart);
  return x;
}

/// Adds up kCount values of each thread of a block of at most kMostThreads, which are whole warps;
/// every thread gets the sums. One barrier each time: rounds take turns with two halves of the
/// memory, so that nobody writes what others still read.
template <int kCount, int kMostThreads>
class BlockSums {
 public:
  struct Memory {
    float of_warps[2][kMostThreads / kWarp][kCount];
  };

  __device__ explicit BlockSums(Memory& memory) : memory_(memory) {}

  __device__ void add_up(float (&values)[kCount]) {
    auto& of_warps = memory_.of_warps[turn_];
    turn_ ^= 1;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int num_warps = static_cast<int>(blockDim.x) / kWarp;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = warp_sum(values[i]);
      if (threadIdx.x % kWarp == 0) of_warps[warp][i] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = 0;
    for (int w = 0; w < num_warps; ++w) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] += of_warps[w][i];
    }
  }

 private:
  Memory& memory_;
  int turn_ = 0;
};

}  // namespace sheaf::nn
