#pragma once

#include "cross_entropy.h"

namespace sheaf::nn {

/// cross_entropy_of_chunk in the current stream, the gradient in the memory of the logits; does not
/// wait. Returns undefined tensors where there is no kernel for the types or strides, as in a build
/// without CUDA.
[[nodiscard]] ChunkLoss cross_entropy_on_cuda(const LogitsChunk& chunk, bool with_gradient);

}  // namespace sheaf::nn
