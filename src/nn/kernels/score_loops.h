#pragma once

#include "row_loops.h"

// The loops over attention's scores; see loops.h.

namespace sheaf::nn {

[[gnu::always_inline]] inline float dot(const float* a, const float* b, std::int64_t size) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Lanes sums = {}, x, y;
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    std::memcpy(&x, a + i, sizeof(Lanes));
    std::memcpy(&y, b + i, sizeof(Lanes));
    sums += x * y;
  }
  float result = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) result += sums[lane];
  for (; i < size; ++i) result += a[i] * b[i];
  return result;
}

[[gnu::always_inline]] inline void clear(float* x, std::int64_t size) {
  std::memset(x, 0, sizeof(float) * static_cast<std::size_t>(size));
}

[[gnu::always_inline]] inline void attend_rows(const ScoreRows& rows) {
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    float* scores = rows.scores + row * rows.num_columns;
    const std::int64_t size = rows.columns_of(row);
    scale_row(scores, size, rows.scale);
    const float largest = largest_of(scores, size);
    const double sum = exponentials(scores, size, largest);
    scale_row(scores, size, static_cast<float>(1 / sum));
    rows.log_sums[row] = largest + static_cast<float>(std::log(sum));
    clear(scores + size, rows.num_columns - size);
  }
}

[[gnu::always_inline]] inline void attend_gradient_rows(const ScoreRows& rows,
                                                        const ScoreGradients& by) {
  const float scale = rows.scale;
  for (std::int64_t row = 0; row < rows.num_rows; ++row) {
    float* scores = rows.scores + row * rows.num_columns;
    float* gradients = by.gradients + row * rows.num_columns;
    const std::int64_t size = rows.columns_of(row);
    const float log_sum = rows.log_sums[row];
    const float mean = dot(by.output + row * by.output_stride,
                           by.output_gradient + row * by.gradient_stride,
                           by.head_size);
    for (std::int64_t i = 0; i < size; ++i) {
      const float weight = exponential(scores[i] * scale - log_sum);
      scores[i] = weight;
      gradients[i] = weight * (gradients[i] - mean) * scale;
    }
    clear(scores + size, rows.num_columns - size);
    clear(gradients + size, rows.num_columns - size);
  }
}

}  // namespace sheaf::nn
