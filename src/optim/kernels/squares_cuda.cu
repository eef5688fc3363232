#include "launch.cuh"
#include "squares.h"

namespace sheaf::optim {
namespace {

constexpr int kReduceThreads = 1024;
/// Elements that a block takes at a time.
constexpr std::int64_t kChunk = 4096;

struct Input {
  const void* values;
  std::int64_t size;
  /// Its chunks are numbered from here on.
  std::int64_t first_chunk;
  Type type;
  bool is_aligned;
};

struct Inputs {
  Input all[kMostSquared];
  int count;
  std::int64_t num_chunks;
};

Inputs inputs_of(std::span<const Squared> all) {
  Inputs inputs{};
  for (const Squared& each : all) {
    inputs.all[inputs.count++] = {each.values,
                                  each.size,
                                  inputs.num_chunks,
                                  each.type,
                                  reinterpret_cast<std::uintptr_t>(each.values) % 16 == 0};
    inputs.num_chunks += (each.size + kChunk - 1) / kChunk;
  }
  return inputs;
}

template <Type kType>
__device__ double squares_of_chunk(const Input& input, std::int64_t begin, std::int64_t end) {
  constexpr int kWidth = 16 / sizeof(Stored<kType>);
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.x * kWidth; i < end; i += kThreadsPerBlock * kWidth) {
    if (i + kWidth > end) {
      for (; i < end; ++i) {
        const double value = loaded<kType>(static_cast<const Stored<kType>*>(input.values)[i]);
        sum += value * value;
      }
      break;
    }
    const auto pack = read<Stored<kType>, kWidth>(input.values, i, input.is_aligned);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const double value = loaded<kType>(pack.values[k]);
      sum += value * value;
    }
  }
  return sum;
}

/// Returns the sum over all threads of the block, to its first thread.
template <int kThreads>
__device__ double sum_over_block(double own) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = own;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

__global__ void __launch_bounds__(kThreadsPerBlock) squares_kernel(Inputs inputs, double* partial) {
  double sum = 0;
  int which = 0;
  for (std::int64_t chunk = blockIdx.x; chunk < inputs.num_chunks; chunk += gridDim.x) {
    while (which + 1 < inputs.count && inputs.all[which + 1].first_chunk <= chunk) ++which;
    const Input& input = inputs.all[which];
    const std::int64_t begin = (chunk - input.first_chunk) * kChunk;
    const std::int64_t end = begin + kChunk < input.size ? begin + kChunk : input.size;
    if (input.type == Type::bf16) {
      sum += squares_of_chunk<Type::bf16>(input, begin, end);
    } else if (input.type == Type::fp32) {
      sum += squares_of_chunk<Type::fp32>(input, begin, end);
    } else {
      sum += squares_of_chunk<Type::fp64>(input, begin, end);
    }
  }
  const double of_block = sum_over_block<kThreadsPerBlock>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = of_block;
}

__global__ void __launch_bounds__(kReduceThreads)
    reduce_kernel(const double* partial, std::int64_t count, double* sum) {
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kReduceThreads) own += partial[i];
  const double all = sum_over_block<kReduceThreads>(own);
  if (threadIdx.x == 0) *sum = all;
}

}  // namespace

void sum_squares_on_cuda(std::span<const Squared> all, double* partial, double* sum, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  const auto num_partial = static_cast<std::int64_t>(num_square_launches(all.size())) * kSquareBlocks;
  for (double* to = partial; !all.empty(); to += kSquareBlocks) {
    const std::size_t now = std::min(all.size(), kMostSquared);
    squares_kernel<<<kSquareBlocks, kThreadsPerBlock, 0, queue>>>(inputs_of(all.first(now)), to);
    check_launch("the gradients' norm");
    all = all.subspan(now);
  }
  reduce_kernel<<<1, kReduceThreads, 0, queue>>>(partial, num_partial, sum);
  check_launch("the gradients' norm");
}

}  // namespace sheaf::optim
