#pragma once

#include <algorithm>
#include <cstdint>

#include "arithmetic.h"
#include "base/store_words.cuh"

namespace sheaf::optim {

constexpr int kThreadsPerBlock = 256;
/// Enough that blocks are not over before they are started, few enough that the last ones end
/// together.
constexpr int kPacksPerThread = 4;

/// Neighbouring values that one access moves, where they lie at a multiple of its size.
template <class S, int kWidth>
struct alignas(sizeof(S) * kWidth < 16 ? sizeof(S) * kWidth : 16) Pack {
  S values[kWidth];
};

/// Sixteen bytes of the widest type.
template <class Of>
constexpr int kPackWidth = 16 / static_cast<int>(std::max({sizeof(Stored<Of::kMaster>),
                                                           sizeof(Stored<Of::kGradient>),
                                                           sizeof(Stored<Of::kState>)}));

/// How elements are cut into packs: `head` single ones, then packs, then what is left.
struct Cut {
  std::int64_t head = 0;
  std::int64_t num_packs = 0;
  /// Whether packs lie at multiples of their size in all memory.
  bool is_aligned = false;
};

template <class Of, int kWidth>
Cut cut_of(const Elements& all, std::size_t copy_size) {
  const auto place = [](const void* from) { return reinterpret_cast<std::uintptr_t>(from); };
  const auto fits = [&](const void* from, std::size_t size, std::int64_t head) {
    const std::size_t pack = std::min<std::size_t>(size * kWidth, 16);
    return from == nullptr || (place(from) + head * size) % pack == 0;
  };
  constexpr std::size_t kSize = sizeof(Stored<Of::kMaster>);
  for (std::int64_t head = 0; head < std::min<std::int64_t>(kWidth, all.size); ++head) {
    if (fits(all.master, kSize, head) && fits(all.gradient, sizeof(Stored<Of::kGradient>), head) &&
        fits(all.state1, sizeof(Stored<Of::kState>), head) &&
        fits(all.state2, sizeof(Stored<Of::kState>), head) && fits(all.copy, copy_size, head)) {
      return {head, (all.size - head) / kWidth, true};
    }
  }
  return {0, all.size / kWidth, false};
}

template <class S, int kWidth>
__device__ Pack<S, kWidth> read(const void* from, std::int64_t i, bool is_aligned) {
  const S* place = static_cast<const S*>(from) + i;
  if (is_aligned) return *reinterpret_cast<const Pack<S, kWidth>*>(place);
  Pack<S, kWidth> pack;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) pack.values[k] = place[k];
  return pack;
}

template <class S, int kWidth>
__device__ void write_whole(S* to, const Pack<S, kWidth>& pack) {
  if constexpr (sizeof(pack) % sizeof(uint4) == 0) {
    const uint4* const words = reinterpret_cast<const uint4*>(&pack);
    constexpr int kPerWord = sizeof(uint4) / sizeof(S);
#pragma unroll
    for (int k = 0; k < kWidth / kPerWord; ++k) store_words(to + k * kPerWord, words[k]);
  } else if constexpr (sizeof(pack) == sizeof(uint2)) {
    store_words(to, *reinterpret_cast<const uint2*>(&pack));
  } else {
    *reinterpret_cast<Pack<S, kWidth>*>(to) = pack;
  }
}

template <class S, int kWidth>
__device__ void write(void* to, std::int64_t i, bool is_aligned, const Pack<S, kWidth>& pack) {
  S* place = static_cast<S*>(to) + i;
  if (is_aligned) return write_whole(place, pack);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) place[k] = pack.values[k];
}

/// The numbers of a step: as given, or as they are in device memory when the kernel runs.
template <class Factors>
struct Numbers {
  Factors given;
  const double* kept;
};

template <template <class> class Factors, class T>
__device__ Factors<T> numbers_in_block(const Numbers<Factors<T>>& numbers) {
  if (numbers.kept == nullptr) return numbers.given;
  constexpr int kCount = sizeof(Factors<T>) / sizeof(T);
  __shared__ T kept[kCount];
  if (threadIdx.x < kCount) kept[threadIdx.x] = static_cast<T>(numbers.kept[threadIdx.x]);
  __syncthreads();
  return *reinterpret_cast<const Factors<T>*>(kept);
}

/// Steps kWidth elements from `i` on. An algorithm has kNumStates and changes master and states of
/// an Element.
template <class Algorithm, class Of, Type kCopy, int kWidth, class Factors, class T>
__device__ void step_pack(
    const Elements& all, const Factors& by, T scale, std::int64_t i, bool is_aligned) {
  using Master = Stored<Of::kMaster>;
  using State = Stored<Of::kState>;
  auto master = read<Master, kWidth>(all.master, i, is_aligned);
  const auto gradient = read<Stored<Of::kGradient>, kWidth>(all.gradient, i, is_aligned);
  Pack<State, kWidth> state1{};
  Pack<State, kWidth> state2{};
  if constexpr (Algorithm::kNumStates > 0) {
    state1 = read<State, kWidth>(all.state1, i, is_aligned);
  }
  if constexpr (Algorithm::kNumStates > 1) {
    state2 = read<State, kWidth>(all.state2, i, is_aligned);
  }
  Pack<Stored<kCopy>, kWidth> copy;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const AdamElement<T> x =
        Algorithm::step(AdamElement<T>{loaded<Of::kMaster>(master.values[k]),
                                       loaded<Of::kGradient>(gradient.values[k]) * scale,
                                       loaded<Of::kState>(state1.values[k]),
                                       loaded<Of::kState>(state2.values[k])},
                        by);
    master.values[k] = stored<Of::kMaster>(x.master);
    state1.values[k] = stored<Of::kState>(x.exp_avg);
    state2.values[k] = stored<Of::kState>(x.exp_avg_sq);
    if constexpr (kCopy != Type::none) copy.values[k] = stored<kCopy>(x.master);
  }
  write(all.master, i, is_aligned, master);
  if constexpr (Algorithm::kNumStates > 0) write(all.state1, i, is_aligned, state1);
  if constexpr (Algorithm::kNumStates > 1) write(all.state2, i, is_aligned, state2);
  if constexpr (kCopy != Type::none) write(all.copy, i, is_aligned, copy);
}

/// What one launch steps: runs that have blocks of their own each, so that a hundred small ones
/// cost no hundred launches.
constexpr int kMostPieces = 24;

template <class Factors>
struct Piece {
  Elements all;
  Cut cut;
  Numbers<Factors> numbers;
  std::int64_t first_block;
};

template <class Factors>
struct Pieces {
  Piece<Factors> each[kMostPieces];
  int count;
};

template <class Algorithm, class Of, Type kCopy, class Factors>
__global__ void __launch_bounds__(kThreadsPerBlock)
    step_kernel(const __grid_constant__ Pieces<Factors> pieces) {
  using T = Arithmetic<Of::kMaster>;
  constexpr int kWidth = kPackWidth<Of>;
  int which = 0;
  while (which + 1 < pieces.count && pieces.each[which + 1].first_block <= blockIdx.x) ++which;
  const Piece<Factors>& piece = pieces.each[which];
  const Elements& all = piece.all;
  const Cut& cut = piece.cut;
  const std::int64_t block = blockIdx.x - piece.first_block;
  const Factors by = numbers_in_block(piece.numbers);
  const T scale = all.gradient_scale == nullptr ? T{1} : static_cast<T>(*all.gradient_scale);
  const std::int64_t first = block * (kThreadsPerBlock * kPacksPerThread) + threadIdx.x;
  for (int k = 0; k < kPacksPerThread; ++k) {
    const std::int64_t pack = first + k * kThreadsPerBlock;
    if (pack >= cut.num_packs) break;
    step_pack<Algorithm, Of, kCopy, kWidth>(
        all, by, scale, cut.head + pack * kWidth, cut.is_aligned);
  }
  // Fewer than two packs lie before and behind.
  const std::int64_t end = cut.head + cut.num_packs * kWidth;
  const std::int64_t single = threadIdx.x < cut.head ? threadIdx.x : end + threadIdx.x - cut.head;
  if (block == 0 && single < all.size) {
    step_pack<Algorithm, Of, kCopy, 1>(all, by, scale, single, false);
  }
}

}  // namespace sheaf::optim
