#include "cross_entropy_kernel.h"

#include <cfloat>

#include "block_sums.cuh"
#include "chunks.cuh"
#include "exponential.cuh"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarp;

/// The sum of e^(x - highest) over some logits.
struct Exponentials {
  // Not minus infinity: the difference of two of them is no number.
  float highest = -FLT_MAX;
  float sum = 0;
};

template <class T>
__device__ inline Exponentials both(const Exponentials& a, const Exponentials& b) {
  const float highest = fmaxf(a.highest, b.highest);
  return {
      highest,
      a.sum * exponential<T>(a.highest - highest) + b.sum * exponential<T>(b.highest - highest)};
}

template <class T, int kWidth>
__device__ inline void add(Exponentials& so_far, const Values<kWidth>& x) {
  float highest = so_far.highest;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) highest = fmaxf(highest, x.at[i]);
  float sum = so_far.sum * exponential<T>(so_far.highest - highest);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum += exponential<T>(x.at[i] - highest);
  so_far = {highest, sum};
}

/// Combines those of all threads, for every thread, in a fixed order.
template <class T>
__device__ Exponentials of_block(Exponentials own) {
  __shared__ Exponentials of_warps[kWarps];
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2) {
    const Exponentials other{__shfl_xor_sync(0xffffffffU, own.highest, apart),
                             __shfl_xor_sync(0xffffffffU, own.sum, apart)};
    own = both<T>(own, other);
  }
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = own;
  __syncthreads();
  Exponentials all = of_warps[0];
  for (int warp = 1; warp < kWarps; ++warp) all = both<T>(all, of_warps[warp]);
  return all;
}

/// A row cut into chunks at multiples of 16 bytes and single elements at both ends.
template <class T>
struct Cut {
  T* row;
  std::int64_t head;
  std::int64_t num_chunks;
  /// Fewer than two chunks of them.
  std::int64_t num_singles;

  __device__ Cut(T* begin, std::int64_t size) : row(begin) {
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) % 16);
    head = min((16 - past) % 16 / static_cast<std::int64_t>(sizeof(T)), size);
    num_chunks = (size - head) / kChunk;
    num_singles = size - num_chunks * kChunk;
  }

  __device__ std::int64_t chunk(std::int64_t i) const { return head + i * kChunk; }
  __device__ std::int64_t single(std::int64_t i) const {
    return i < head ? i : num_chunks * kChunk + i;
  }
};

template <class T>
__device__ Exponentials exponentials_of(const Cut<T>& cut) {
  Exponentials own;
  const std::int64_t thread = threadIdx.x;
  if (thread < cut.num_singles) add<T>(own, load_values<1>(cut.row + cut.single(thread)));
#pragma unroll 4
  for (std::int64_t i = thread; i < cut.num_chunks; i += kThreads) {
    add<T>(own, load_values<kChunk>(cut.row + cut.chunk(i)));
  }
  return of_block<T>(own);
}

/// What makes a logit the gradient of the row's loss.
template <class T>
struct Softmax {
  float highest;
  float per_sum;
  std::int64_t target;

  template <int kWidth>
  __device__ Values<kWidth> gradient(Values<kWidth> x, std::int64_t first) const {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float probability = exponential<T>(x.at[i] - highest) * per_sum;
      x.at[i] = probability - (first + i == target ? 1.0F : 0.0F);
    }
    return x;
  }
};

template <class T>
__device__ void write_gradient(const Cut<T>& cut, const Softmax<T>& softmax) {
  const std::int64_t thread = threadIdx.x;
  if (thread < cut.num_singles) {
    const std::int64_t at = cut.single(thread);
    store_values<1>(cut.row + at, softmax.gradient(load_values<1>(cut.row + at), at));
  }
#pragma unroll 4
  for (std::int64_t i = thread; i < cut.num_chunks; i += kThreads) {
    const std::int64_t at = cut.chunk(i);
    store_values<kChunk>(cut.row + at, softmax.gradient(load_values<kChunk>(cut.row + at), at));
  }
}

template <class T>
__device__ void write_zeros(T* begin, std::int64_t size) {
  for (std::int64_t i = threadIdx.x; i < size; i += kThreads) begin[i] = narrowed(0.0F, As<T>{});
}

/// A block has a row: it finds the sum of the exponentials, and comes back for the gradient while
/// the row is still in the cache.
template <class T>
__global__ void __launch_bounds__(kThreads) cross_entropy_kernel(LogitsRows all) {
  T* const row = static_cast<T*>(all.logits) + blockIdx.x * all.stride;
  const std::int64_t target = all.targets[blockIdx.x];
  if (target == all.ignored) {
    if (threadIdx.x == 0) all.losses[blockIdx.x] = 0;
    if (all.with_gradient) write_zeros(row, all.vocabulary);
    return;
  }
  const bool is_token = target >= 0 && target < all.vocabulary;
  const float of_target = is_token ? widened(row[target]) : NAN;
  const Cut<T> cut(row, all.vocabulary);
  const Exponentials exponentials = exponentials_of(cut);
  if (threadIdx.x == 0) {
    all.losses[blockIdx.x] = logf(exponentials.sum) + (exponentials.highest - of_target);
  }
  if (!all.with_gradient) return;
  write_gradient(cut, Softmax<T>{exponentials.highest, 1.0F / exponentials.sum, target});
}

__global__ void __launch_bounds__(kThreads)
    sum_kernel(const float* losses, std::int64_t size, double* loss) {
  __shared__ double of_threads[kThreads];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < size; i += kThreads) sum += losses[i];
  of_threads[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      of_threads[threadIdx.x] += of_threads[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) *loss = of_threads[0];
}

}  // namespace

void launch_cross_entropy(const LogitsRows& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    cross_entropy_kernel<T><<<static_cast<unsigned>(all.num_rows), kThreads, 0, queue>>>(all);
  });
  check_launch("cross-entropy");
  sum_kernel<<<1, kThreads, 0, queue>>>(all.losses, all.num_rows, all.loss);
  check_launch("the sum of losses");
}

}  // namespace sheaf::nn
