#pragma once

#include "row_loops.h"

// The loops over rows that are normalised, and over those of gelu's backward pass; see loops.h.

namespace sheaf::nn {

/// Returns the sum of (x - mean)^2.
[[gnu::always_inline]] inline float squares_around(const float* x, std::int64_t size, float mean) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Lanes sums = {}, next;
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    std::memcpy(&next, x + i, sizeof(Lanes));
    next -= mean;
    sums += next * next;
  }
  float result = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) result += sums[lane];
  for (; i < size; ++i) result += (x[i] - mean) * (x[i] - mean);
  return result;
}

[[gnu::always_inline]] inline void norm_part(const NormElements& all, Part rows) {
  const std::int64_t width = all.width;
  const float* const weight = all.weight;
  const float* const bias = all.bias;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* const x = all.x + row * width;
    float* const y = all.y + row * width;
    if (!all.is_known) {
      const auto size = static_cast<float>(width);
      const float centre = all.mean != nullptr ? sum_of(x, width) / size : 0.0F;
      if (all.mean != nullptr) all.mean[row] = centre;
      all.inverse[row] = 1.0F / std::sqrt(squares_around(x, width, centre) / size + all.epsilon);
    }
    const float mean = all.mean != nullptr ? all.mean[row] : 0.0F;
    const float inverse = all.inverse[row];
    if (bias != nullptr) {
      for (std::int64_t i = 0; i < width; ++i) {
        y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
      }
    } else {
      for (std::int64_t i = 0; i < width; ++i) y[i] = (x[i] - mean) * inverse * weight[i];
    }
  }
}

/// Sums over a row of g' = gradient weight, and of g' times the normalised row.
struct NormRowSums {
  float plain = 0;
  float along = 0;
};

[[gnu::always_inline]] inline NormRowSums norm_row_sums(const NormGradientElements& all,
                                                        const float* of_result,
                                                        const float* x,
                                                        float mean,
                                                        float inverse) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Lanes plain = {}, along = {}, g, w, v;
  std::int64_t i = 0;
  for (; i + kLanes <= all.width; i += kLanes) {
    std::memcpy(&g, of_result + i, sizeof(Lanes));
    std::memcpy(&w, all.weight + i, sizeof(Lanes));
    std::memcpy(&v, x + i, sizeof(Lanes));
    g *= w;
    plain += g;
    along += g * ((v - mean) * inverse);
  }
  NormRowSums sums;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    sums.plain += plain[lane];
    sums.along += along[lane];
  }
  for (; i < all.width; ++i) {
    const float weighted = of_result[i] * all.weight[i];
    sums.plain += weighted;
    sums.along += weighted * ((x[i] - mean) * inverse);
  }
  return sums;
}

[[gnu::always_inline]] inline void norm_gradients_part(const NormGradientElements& all, Part rows) {
  const std::int64_t width = all.width;
  const float* __restrict const weight = all.weight;
  float* __restrict const of_weight = all.of_weight;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* __restrict const g = all.of_result + row * width;
    const float* __restrict const x = all.x + row * width;
    float* __restrict const of_x = all.of_x + row * width;
    const float mean = all.mean != nullptr ? all.mean[row] : 0.0F;
    const float inverse = all.inverse[row];
    const NormRowSums sums = norm_row_sums(all, g, x, mean, inverse);
    const float centre = all.mean != nullptr ? sums.plain / static_cast<float>(width) : 0.0F;
    const float along = sums.along / static_cast<float>(width);
    for (std::int64_t i = 0; i < width; ++i) {
      const float normal = (x[i] - mean) * inverse;
      of_x[i] = (g[i] * weight[i] - centre - normal * along) * inverse;
      of_weight[i] += g[i] * normal;
    }
    if (all.of_bias != nullptr) {
      float* __restrict const of_bias = all.of_bias;
      for (std::int64_t i = 0; i < width; ++i) of_bias[i] += g[i];
    }
    if (all.residual != nullptr) {
      const float* __restrict const residual = all.residual + row * width;
      for (std::int64_t i = 0; i < width; ++i) of_x[i] += residual[i];
    }
  }
}

[[gnu::always_inline]] inline void gelu_back_part(const GeluBackElements& all, Part rows) {
  float* __restrict const sums = all.sums;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* __restrict const inner = all.inner + row * all.width;
    float* __restrict const gradient = all.gradient + row * all.width;
    float* __restrict const again = all.again + row * all.width;
    for (std::int64_t i = 0; i < all.width; ++i) {
      const GeluPoint at = gelu_point(inner[i]);
      again[i] = at.value;
      gradient[i] *= at.slope;
      sums[i] += gradient[i];
    }
  }
}

}  // namespace sheaf::nn
