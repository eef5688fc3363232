#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu.h"

// The loops of the CPU kernels, which the caller compiles for one processor or another: everything
// here is always inlined. Compilers vectorise the innermost loops as they stand.

namespace sheaf::nn {

/// Returns e^x with an error of about one unit in the last place. What would be smaller than the
/// smallest normal number is about that number; what is not a number stays so.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float kSmallest = -87.3F, kLargest = 88.3F;
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts; the first has so few bits that its products with whole numbers are exact.
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  // Adding it leaves a whole number in the last bits.
  constexpr float kRound = 12582912.0F;
  x = x < kSmallest ? kSmallest : x;
  x = x > kLargest ? kLargest : x;
  const float shifted = x * kLog2E + kRound;
  const float whole = shifted - kRound;
  const float r = (x - whole * kLn2High) - whole * kLn2Low;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;
  return p * std::bit_cast<float>(exponent);
}

[[gnu::always_inline]] inline float sigmoid(float x) { return 1.0F / (1.0F + exponential(-x)); }

struct Sigmoid {
  float value;
  /// 1 - value, without its loss of digits.
  float rest;
};

[[gnu::always_inline]] inline Sigmoid both_sigmoids(float x) {
  const float e = exponential(-x);
  const float value = 1.0F / (1.0F + e);
  return {value, e * value};
}

// gelu(x) is x sigmoid(2 k (x + c x^3)), which is the usual form with the tanh.
constexpr float kTwoRoots = 1.5957691216057308F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

[[gnu::always_inline]] inline void gelu_loop(const float* x, float* y, Part part) {
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const float v = x[i];
    y[i] = v * sigmoid(kTwoRoots * v * (1.0F + kCubic * v * v));
  }
}

struct GeluPoint {
  float value;
  float slope;
};

[[gnu::always_inline]] inline GeluPoint gelu_point(float v) {
  const Sigmoid s = both_sigmoids(kTwoRoots * v * (1.0F + kCubic * v * v));
  // Far out the sigmoid is 0 or 1 and the slope must not outgrow what is left of it.
  const float near = std::min(std::max(v, -100.0F), 100.0F);
  const float slope = kTwoRoots * near * (1.0F + 3.0F * kCubic * near * near);
  return {v * s.value, s.value + s.value * s.rest * slope};
}

[[gnu::always_inline]] inline void gelu_gradient_loop(const float* x,
                                                      const float* gradient,
                                                      float* x_gradient,
                                                      Part part) {
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    x_gradient[i] = gradient[i] * gelu_point(x[i]).slope;
  }
}

[[gnu::always_inline]] inline void swiglu_loop(const GateElements& all, Part part) {
  const float* gate = all.gate;
  const float* up = all.up;
  float* output = all.output;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    output[i] = gate[i] * sigmoid(gate[i]) * up[i];
  }
}

[[gnu::always_inline]] inline void swiglu_gradient_loop(const GateElements& all, Part part) {
  const float* gate = all.gate;
  const float* up = all.up;
  const float* gradient = all.gradient;
  float* gate_gradient = all.output;
  float* up_gradient = all.up_gradient;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const float v = gate[i], g = gradient[i];
    const Sigmoid s = both_sigmoids(v);
    const float silu = v * s.value;
    gate_gradient[i] = g * up[i] * (s.value + silu * s.rest);
    up_gradient[i] = g * silu;
  }
}

}  // namespace sheaf::nn
