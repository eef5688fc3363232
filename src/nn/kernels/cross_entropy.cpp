#include "cross_entropy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <numeric>
#include <vector>

#include "cpu.h"
#include "cross_entropy_cuda.h"

namespace sheaf::nn {
namespace {

ChunkLoss by_kernel(const LogitsChunk& chunk, bool with_gradient) {
  const at::Tensor logits = chunk.logits.contiguous();
  const at::Tensor targets = chunk.targets.contiguous();
  std::vector<double> losses(static_cast<std::size_t>(logits.size(0)));
  const CrossEntropyRows rows{.logits = logits.mutable_data_ptr<float>(),
                              .vocabulary = logits.size(1),
                              .targets = targets.const_data_ptr<std::int64_t>(),
                              .ignored = chunk.ignored,
                              .losses = losses.data(),
                              .with_gradients = with_gradient};
  in_parallel({logits.size(0)}, [&](Part part) { best_kernels().cross_entropy(rows, part); });
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  return {at::scalar_tensor(sum, at::kDouble), with_gradient ? logits : at::Tensor()};
}

/// The logits' memory becomes that of the exponentials and of the gradient: a chunk of them is
/// large.
ChunkLoss by_operators(const LogitsChunk& chunk, bool with_gradient) {
  const at::ScalarType type = chunk.logits.scalar_type();
  const at::Tensor logits = type == at::kDouble ? chunk.logits : chunk.logits.to(at::kFloat);
  const at::Tensor counts = chunk.targets.ne(chunk.ignored).unsqueeze(1);
  const at::Tensor targets = chunk.targets.unsqueeze(1).masked_fill(counts.logical_not(), 0);
  logits.sub_(logits.amax(1, /*keepdim=*/true));
  const at::Tensor of_targets = logits.gather(1, targets);
  const at::Tensor sums = logits.exp_().sum(1, /*keepdim=*/true);
  const at::Tensor losses = sums.log() - of_targets;
  ChunkLoss result{losses.masked_fill_(counts.logical_not(), 0).sum(at::kDouble), {}};
  if (!with_gradient) return result;
  const at::Tensor gradient = logits.div_(sums);
  gradient.scatter_add_(1, targets, at::full_like(losses, -1));
  result.gradient = gradient.masked_fill_(counts.logical_not(), 0).to(type);
  return result;
}

}  // namespace

ChunkLoss cross_entropy_of_chunk(const LogitsChunk& chunk, bool with_gradient) {
  const at::Tensor& logits = chunk.logits;
  if (logits.is_cuda()) {
    ChunkLoss result = cross_entropy_on_cuda(chunk, with_gradient);
    if (result.loss.defined()) return result;
  }
  const bool is_plain = logits.is_cpu() && logits.scalar_type() == at::kFloat;
  return is_plain ? by_kernel(chunk, with_gradient) : by_operators(chunk, with_gradient);
}

}  // namespace sheaf::nn
