#pragma once

#include <ATen/core/Tensor.h>

#include "vector_target.h"

namespace sheaf::nn {

enum class NormKind { layer, root_mean_square };

struct NormOptions {
  NormKind kind = NormKind::layer;
  double epsilon = 1e-5;
};

/// One number per row, [rows], in fp32 (fp64 of fp64).
struct NormStatistics {
  /// Undefined for the root mean square.
  at::Tensor mean;
  /// 1 / sqrt(variance + epsilon), or of the mean square.
  at::Tensor inverse;
};

// All of these compute in fp32 at least, record nothing, and take rows [rows, width].

/// Returns (x - mean) inverse weight + bias in the type of `x` and fills the statistics; an
/// undefined `bias` adds nothing, and the root mean square takes no mean away.
[[nodiscard]] at::Tensor norm_rows(const at::Tensor& x,
                                   const at::Tensor& weight,
                                   const at::Tensor& bias,
                                   const NormOptions& options,
                                   NormStatistics& statistics);

/// What the gradients come from.
struct NormBackward {
  /// The gradient of norm_rows' result.
  at::Tensor of_result;
  at::Tensor x;
  at::Tensor weight;
  NormStatistics statistics;
  /// If defined, added to the gradient of x before it is rounded: that of a path around the norm.
  at::Tensor residual = {};
  /// If defined, memory like x's that gets what norm_rows returned, bit for bit.
  at::Tensor again = {};
  /// The norm's, if it has one; `again` alone needs it.
  at::Tensor bias = {};
};

/// Puts the gradients of weight and bias into their places, rounded once; the bias's is left out
/// where it has no memory. Returns that of x.
[[nodiscard]] at::Tensor norm_rows_back(const NormBackward& in,
                                        const VectorTarget& of_weight,
                                        const VectorTarget& of_bias);

/// Those of weight and bias are in fp32 (fp64 of fp64); the bias's is undefined if not wanted.
struct NormGradients {
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
};

/// The same, with memory of their own.
[[nodiscard]] NormGradients norm_rows_gradients(const NormBackward& in, bool with_bias);

}  // namespace sheaf::nn
