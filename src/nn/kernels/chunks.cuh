#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "base/store_words.cuh"

// Eight neighbouring elements are what a thread reads and writes at a time: 16 bytes of the narrow
// types, twice as many of fp32.

namespace sheaf::nn {

constexpr int kChunk = 8;

/// A chunk as it lies in memory; starts at a multiple of 16 bytes there.
template <class T>
struct Chunk {
  uint4 words[sizeof(T) * kChunk / sizeof(uint4)];
};

/// Elements as they are computed with.
template <int kWidth>
struct Values {
  float at[kWidth];
};

using Floats = Values<kChunk>;

template <class T>
__device__ inline Chunk<T> load_chunk(const T* from) {
  Chunk<T> result;
  const uint4* const words = reinterpret_cast<const uint4*>(from);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(Chunk<T>) / sizeof(uint4)); ++i) {
    result.words[i] = words[i];
  }
  return result;
}

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float widened(__half x) { return __half2float(x); }

__device__ inline float2 widened(__nv_bfloat162 x) { return __bfloat1622float2(x); }
__device__ inline float2 widened(__half2 x) { return __half22float2(x); }

/// A type, to choose an overload by.
template <class T>
struct As {};

__device__ inline float narrowed(float x, As<float>) { return x; }
__device__ inline __nv_bfloat16 narrowed(float x, As<__nv_bfloat16>) {
  return __float2bfloat16_rn(x);
}
__device__ inline __half narrowed(float x, As<__half>) { return __float2half_rn(x); }

__device__ inline __nv_bfloat162 narrowed(float x, float y, As<__nv_bfloat16>) {
  return __floats2bfloat162_rn(x, y);
}
__device__ inline __half2 narrowed(float x, float y, As<__half>) { return __floats2half2_rn(x, y); }

template <class T>
__device__ inline Floats widened(const Chunk<T>& chunk) {
  Floats result;
  using Pair = decltype(narrowed(0.0F, 0.0F, As<T>{}));
  const Pair* const pairs = reinterpret_cast<const Pair*>(&chunk);
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    const float2 both = widened(pairs[i]);
    result.at[2 * i] = both.x;
    result.at[2 * i + 1] = both.y;
  }
  return result;
}

template <>
__device__ inline Floats widened<float>(const Chunk<float>& chunk) {
  const uint4 low = chunk.words[0], high = chunk.words[1];
  return {{__uint_as_float(low.x),
           __uint_as_float(low.y),
           __uint_as_float(low.z),
           __uint_as_float(low.w),
           __uint_as_float(high.x),
           __uint_as_float(high.y),
           __uint_as_float(high.z),
           __uint_as_float(high.w)}};
}

/// Returns two neighbouring elements as the word that they are in memory.
template <class T>
__device__ inline unsigned word_of(float low, float high) {
  const auto pair = narrowed(low, high, As<T>{});
  return *reinterpret_cast<const unsigned*>(&pair);
}

template <class T>
__device__ inline void store_chunk(T* to, const Floats& values) {
  store_words(to,
              uint4{word_of<T>(values.at[0], values.at[1]),
                    word_of<T>(values.at[2], values.at[3]),
                    word_of<T>(values.at[4], values.at[5]),
                    word_of<T>(values.at[6], values.at[7])});
}

template <>
__device__ inline void store_chunk<float>(float* to, const Floats& values) {
#pragma unroll
  for (int i = 0; i < kChunk; i += 4) {
    store_words(to + i,
                uint4{__float_as_uint(values.at[i]),
                      __float_as_uint(values.at[i + 1]),
                      __float_as_uint(values.at[i + 2]),
                      __float_as_uint(values.at[i + 3])});
  }
}

/// Reads kWidth elements, one or a chunk; so kernels are written once for both.
template <int kWidth, class T>
__device__ inline Values<kWidth> load_values(const T* from) {
  if constexpr (kWidth == kChunk) {
    return widened(load_chunk(from));
  } else {
    static_assert(kWidth == 1);
    return {{widened(*from)}};
  }
}

template <int kWidth, class T>
__device__ inline void store_values(T* to, const Values<kWidth>& values) {
  if constexpr (kWidth == kChunk) {
    store_chunk(to, values);
  } else {
    static_assert(kWidth == 1);
    *to = narrowed(values.at[0], As<T>{});
  }
}

}  // namespace sheaf::nn
