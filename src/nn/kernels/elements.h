#pragma once

#include <cstdint>

#include "philox.h"

// What the kernels work on, in plain pointers and free of torch: nvcc reads this too.

namespace sheaf::nn {

/// A batch whose elements are dropped; samples lie one behind the other.
struct DropElements {
  const void* input = nullptr;
  void* output = nullptr;
  std::int64_t num_samples = 0;
  std::int64_t sample_size = 0;
  std::int64_t first_sample = 0;
  /// fp64 if set, else fp32.
  bool is_double = false;

  [[nodiscard]] std::int64_t groups_per_sample() const {
    return (sample_size + kGroup - 1) / kGroup;
  }
};

struct GateElements {
  const float* gate = nullptr;
  const float* up = nullptr;
  /// Null in the forward pass.
  const float* gradient = nullptr;
  /// The result, or the gradient of `gate`.
  float* output = nullptr;
  float* up_gradient = nullptr;
};

/// Rows [rows, width] that are normalised, as norm_rows.h says it.
struct NormElements {
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t width = 0;
  const float* weight = nullptr;
  /// Null where nothing is added.
  const float* bias = nullptr;
  /// Null for the root mean square.
  float* mean = nullptr;
  float* inverse = nullptr;
  float epsilon = 0;
  /// Whether the statistics are there already.
  bool is_known = false;
};

/// What the gradients of NormElements need.
struct NormGradientElements {
  const float* of_result = nullptr;
  const float* x = nullptr;
  std::int64_t width = 0;
  const float* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  /// Added to the gradient of x; null where there is none.
  const float* residual = nullptr;
  float* of_x = nullptr;
  /// Sums over the rows of a part, added to what is there.
  float* of_weight = nullptr;
  float* of_bias = nullptr;
};

/// Rows [rows, width] that gelu was made of; see gelu_rows.h.
struct GeluBackElements {
  const float* inner = nullptr;
  /// Becomes the gradient of `inner`.
  float* gradient = nullptr;
  float* again = nullptr;
  std::int64_t width = 0;
  /// Sums over the rows of a part, added to what is there.
  float* sums = nullptr;
};

/// Rows of logits which become the gradients of the rows' losses.
struct CrossEntropyRows {
  float* logits = nullptr;
  std::int64_t vocabulary = 0;
  const std::int64_t* targets = nullptr;
  std::int64_t ignored = -100;
  /// One per row.
  double* losses = nullptr;
  bool with_gradients = true;
};

/// A block of rows of the scores q k^T of one head. Row i sees the first `seen + i` columns if
/// `causal`, else all; what it does not see becomes 0.
struct ScoreRows {
  /// Becomes softmax(scale scores).
  float* scores = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t num_columns = 0;
  std::int64_t seen = 1;
  bool causal = true;
  float scale = 1;
  /// The logarithm of each row's sum of exponentials; written forward, read backward.
  float* log_sums = nullptr;

  [[nodiscard]] std::int64_t columns_of(std::int64_t row) const {
    return causal ? seen + row : num_columns;
  }
};

/// What the gradient of ScoreRows needs besides them.
struct ScoreGradients {
  /// Gradients of the weights, which become those of the unscaled scores; as large as the scores.
  float* gradients = nullptr;
  /// Rows of the head's output and of its gradient.
  const float* output = nullptr;
  std::int64_t output_stride = 0;
  const float* output_gradient = nullptr;
  std::int64_t gradient_stride = 0;
  std::int64_t head_size = 0;
};

}  // namespace sheaf::nn
