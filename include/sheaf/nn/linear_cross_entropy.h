#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sheaf::nn {

/// A target that does not count.
inline constexpr std::int64_t kIgnoredTarget = -100;

struct LinearCrossEntropyOptions {
  /// Rows of the weight that are real; those behind are padding that is never predicted. -1: all.
  std::int64_t vocabulary = -1;
  /// Rows of logits that exist at one time; 0: as many as fit into a part of a CPU's
  /// caches, or keep a GPU busy.
  std::int64_t chunk_rows = 0;
};

/// Returns the sum of the cross-entropies of softmax(hidden weight^T) at `targets`, as an fp32
/// scalar (fp64 for fp64). `hidden` is [rows, width], `weight` [vocabulary, width], `targets`
/// [rows], int64; kIgnoredTarget is left out. The logits exist only chunk by chunk: the same pass
/// that computes the loss makes the gradients, if they are wanted, and backward only scales them.
/// Throws UsageError on shapes that do not fit and, on CPUs, on a target that is no token.
[[nodiscard]] at::Tensor linear_cross_entropy(const at::Tensor& hidden,
                                              const at::Tensor& weight,
                                              const at::Tensor& targets,
                                              const LinearCrossEntropyOptions& options = {});

}  // namespace sheaf::nn
