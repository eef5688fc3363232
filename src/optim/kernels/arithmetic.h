#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "elements.h"

// Note [The same bits everywhere]
// What happens to one element stands here once, for the CPU and, through constexpr, for CUDA. Its
// operations (+ - * / sqrt and integers) are all rounded exactly, and both compilers are told not
// to fuse any two of them. So the result depends on the element's values alone: not on its place in
// a segment, the width of vectors, the number of threads, the processor or the device. Runs that
// are sharded differently can thus be compared bit for bit.

namespace sheaf::optim {

/// Returns the gradient with weight decay in it. Without decay even an infinite parameter adds
/// nothing.
template <class T>
constexpr T decayed(T gradient, T decay, T master) {
  return decay == 0 ? gradient : gradient + decay * master;
}

template <class T>
struct AdamElement {
  T master;
  T gradient;
  T exp_avg;
  T exp_avg_sq;
};

template <class T>
constexpr AdamElement<T> adam(AdamElement<T> x, const AdamFactors<T>& by) {
  x.gradient = decayed(x.gradient, by.gradient_decay, x.master);
  x.master = x.master * by.decay;
  x.exp_avg = by.beta1 * x.exp_avg + by.one_minus_beta1 * x.gradient;
  x.exp_avg_sq = by.beta2 * x.exp_avg_sq + by.one_minus_beta2 * x.gradient * x.gradient;
  const T root = std::sqrt(x.exp_avg_sq) / by.root_bias2 + by.epsilon;
  x.master = x.master - by.step_size * x.exp_avg / root;
  return x;
}

template <class T>
struct SgdElement {
  T master;
  T gradient;
  T buffer;
};

/// Steps with momentum.
template <class T>
constexpr SgdElement<T> sgd(SgdElement<T> x, const SgdFactors<T>& by) {
  x.gradient = decayed(x.gradient, by.gradient_decay, x.master);
  x.buffer = by.keep * x.buffer + by.take * x.gradient;
  const T direction = by.look_ahead == 0 ? x.buffer : x.gradient + by.look_ahead * x.buffer;
  x.master = x.master - by.learning_rate * direction;
  return x;
}

/// Steps without momentum.
template <class T>
constexpr T plain_sgd(T master, T gradient, const SgdFactors<T>& by) {
  return master - by.learning_rate * decayed(gradient, by.gradient_decay, master);
}

/// Returns the bits of the nearest bf16, of two equally near ones the even.
constexpr std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(is_nan ? 0x7FC0U : rounded);
}

/// Returns the bits of the nearest fp16, of two equally near ones the even.
constexpr std::uint16_t fp16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // The exponent's bias is 112 less; what is rounded up past the largest fp16 becomes infinite.
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  // Half a unit of 0.5 is half of the smallest fp16, so the addition rounds to where fp16 does.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U;
  std::uint32_t result = magnitude < 0x38800000U ? small : normal;
  result = magnitude >= 0x47800000U ? 0x7C00U : result;
  result = magnitude > 0x7F800000U ? 0x7E00U : result;
  return static_cast<std::uint16_t>(result | (bits >> 16 & 0x8000U));
}

/// Returns a stepped value as it is stored in a copy of the type kType.
template <Type kType, class T>
constexpr auto stored(T value) {
  if constexpr (kType == Type::bf16) {
    return bf16_bits(static_cast<float>(value));
  } else if constexpr (kType == Type::fp16) {
    return fp16_bits(static_cast<float>(value));
  } else if constexpr (kType == Type::fp32) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

template <Type kType>
using Stored = decltype(stored<kType>(0.0));

/// What values of a type are computed in.
template <Type kType>
using Arithmetic = std::conditional_t<kType == Type::fp64, double, float>;

/// Returns a stored fp32, fp64 or bf16 as a number to compute with.
template <Type kType>
constexpr Arithmetic<kType> loaded(Stored<kType> value) {
  static_assert(kType == Type::fp32 || kType == Type::fp64 || kType == Type::bf16);
  if constexpr (kType == Type::bf16) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
  } else {
    return value;
  }
}

}  // namespace sheaf::optim
