#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sheaf::nn {

/// Some rows of logits [rows, vocabulary] and their int64 targets [rows]; the logits are
/// overwritten. Rows may be further apart than they are long.
struct LogitsChunk {
  at::Tensor logits;
  at::Tensor targets;
  std::int64_t ignored = -100;
};

struct ChunkLoss {
  /// Sum over the rows, an fp64 scalar.
  at::Tensor loss;
  /// softmax - one-hot, in the type of the logits; undefined if not wanted.
  at::Tensor gradient;
};

/// Works in fp32 at least. On GPUs nobody waits to see whether targets are in the vocabulary: one
/// that is not makes the loss no number.
[[nodiscard]] ChunkLoss cross_entropy_of_chunk(const LogitsChunk& chunk, bool with_gradient);

}  // namespace sheaf::nn
