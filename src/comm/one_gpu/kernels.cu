#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <string>

#include "kernels.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::one_gpu {
namespace {

constexpr int kThreads = 512;
// Enough to fill the memory's bandwidth and few enough to leave room for the computation beside.
constexpr std::int64_t kMostBlocks = 264;

unsigned blocks_for(std::int64_t items) {
  const std::int64_t wanted = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, kMostBlocks));
}

void check_start(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("the kernel of ") + what +
              " did not start: " + cudaGetErrorString(error));
}

bool is_aligned(const void* pointer, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
}

template <class Word>
__global__ void copy_kernel(Copies copies) {
  const Copy& copy = copies.of[blockIdx.y];
  const Word* from = reinterpret_cast<const Word*>(copy.from);
  Word* to = reinterpret_cast<Word*>(copy.to);
  const std::int64_t count = copy.bytes / static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t apart = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += apart) to[i] = from[i];
}

template <class T>
struct SumOf {
  using Type = T;
};
template <>
struct SumOf<__half> {
  using Type = float;
};
template <>
struct SumOf<__nv_bfloat16> {
  using Type = float;
};

/// A value that is not a number wins, so that it cannot get lost.
template <Fold kFold, class S>
__device__ S combine(S a, S b) {
  if constexpr (kFold == Fold::max) return a > b || a != a ? a : b;
  if constexpr (kFold == Fold::min) return a < b || a != a ? a : b;
  return static_cast<S>(a + b);
}

/// What a thread reads at a time.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T values[kWidth];
};

template <class T, int kWidth, Fold kFold>
__global__ void reduce_kernel(T* output, Inputs inputs, std::int64_t count, double scale, double divisor) {
  using S = typename SumOf<T>::Type;
  using P = Pack<T, kWidth>;
  const S factor = static_cast<S>(scale), by = static_cast<S>(divisor);
  const bool scales = scale != 1, divides = divisor != 1;
  const std::int64_t apart = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count / kWidth; i += apart) {
    S sums[kWidth];
    for (int rank = 0; rank < inputs.count; ++rank) {
      const P read = reinterpret_cast<const P*>(inputs.of[rank])[i];
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        S value = static_cast<S>(read.values[k]);
        if (scales) value = static_cast<S>(value * factor);
        sums[k] = rank == 0 ? value : combine<kFold>(sums[k], value);
      }
    }
    P result;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      result.values[k] = static_cast<T>(divides ? static_cast<S>(sums[k] / by) : sums[k]);
    }
    reinterpret_cast<P*>(output)[i] = result;
  }
}

template <class T, int kWidth>
void reduce_packed(const Reduced& reduced, const Inputs& inputs, const FoldRule& rule, cudaStream_t stream) {
  const unsigned blocks = blocks_for(reduced.count / kWidth);
  T* output = reinterpret_cast<T*>(reduced.output);
  switch (rule.fold) {
    case Fold::sum:
      reduce_kernel<T, kWidth, Fold::sum>
          <<<blocks, kThreads, 0, stream>>>(output, inputs, reduced.count, rule.scale, rule.divisor);
      break;
    case Fold::max:
      reduce_kernel<T, kWidth, Fold::max><<<blocks, kThreads, 0, stream>>>(output, inputs, reduced.count, 1, 1);
      break;
    case Fold::min:
      reduce_kernel<T, kWidth, Fold::min><<<blocks, kThreads, 0, stream>>>(output, inputs, reduced.count, 1, 1);
      break;
  }
  check_start("a reduction");
}

template <class T>
void reduce_typed(const Reduced& reduced, const Inputs& inputs, const FoldRule& rule, cudaStream_t stream) {
  constexpr int kWidth = 16 / sizeof(T);
  bool aligned = is_aligned(reduced.output, 16) && reduced.count % kWidth == 0;
  for (int i = 0; i < inputs.count; ++i) aligned = aligned && is_aligned(inputs.of[i], 16);
  if (aligned) return reduce_packed<T, kWidth>(reduced, inputs, rule, stream);
  reduce_packed<T, 1>(reduced, inputs, rule, stream);
}

template <class Word>
void copy_words(const Copies& copies, std::int64_t longest, cudaStream_t stream) {
  const dim3 grid(blocks_for(longest / static_cast<std::int64_t>(sizeof(Word)) / copies.count + 1),
                  static_cast<unsigned>(copies.count));
  copy_kernel<Word><<<grid, kThreads, 0, stream>>>(copies);
  check_start("a copy");
}

}  // namespace

void launch_copies(const Copies& copies, void* stream) {
  if (copies.count == 0) return;
  std::int64_t longest = 0;
  std::uintptr_t all = 0;
  for (int i = 0; i < copies.count; ++i) {
    const Copy& copy = copies.of[i];
    longest = std::max(longest, copy.bytes);
    all |= reinterpret_cast<std::uintptr_t>(copy.from) | reinterpret_cast<std::uintptr_t>(copy.to) |
           static_cast<std::uintptr_t>(copy.bytes);
  }
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (all % sizeof(int4) == 0) return copy_words<int4>(copies, longest, queue);
  if (all % sizeof(int) == 0) return copy_words<int>(copies, longest, queue);
  copy_words<char>(copies, longest, queue);
}

void launch_reduce(const Reduced& reduced, const Inputs& inputs, const FoldRule& rule, void* stream) {
  if (reduced.count == 0) return;
  auto* const queue = static_cast<cudaStream_t>(stream);
  switch (reduced.element) {
    case Element::fp32:
      return reduce_typed<float>(reduced, inputs, rule, queue);
    case Element::fp64:
      return reduce_typed<double>(reduced, inputs, rule, queue);
    case Element::fp16:
      return reduce_typed<__half>(reduced, inputs, rule, queue);
    case Element::bf16:
      return reduce_typed<__nv_bfloat16>(reduced, inputs, rule, queue);
    case Element::int8:
      return reduce_typed<std::int8_t>(reduced, inputs, rule, queue);
    case Element::uint8:
      return reduce_typed<std::uint8_t>(reduced, inputs, rule, queue);
    case Element::int32:
      return reduce_typed<std::int32_t>(reduced, inputs, rule, queue);
    case Element::int64:
      return reduce_typed<std::int64_t>(reduced, inputs, rule, queue);
  }
}

}  // namespace sheaf::comm::one_gpu
