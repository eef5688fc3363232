#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sheaf::nn {

/// Some rows of logits and their targets; the logits are overwritten.
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

/// Works in fp32 at least.
[[nodiscard]] ChunkLoss cross_entropy_of_chunk(const LogitsChunk& chunk, bool with_gradient);

}  // namespace sheaf::nn
