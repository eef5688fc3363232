#include "cross_entropy_cuda.h"

#include <ATen/ops/empty.h>

#include "cross_entropy_kernel.h"
#include "on_cuda.h"

namespace sheaf::nn {

ChunkLoss cross_entropy_on_cuda(const LogitsChunk& chunk, bool with_gradient) {
  const at::Tensor& logits = chunk.logits;
  const auto type = element_type(logits.scalar_type());
  const bool has_rows = logits.numel() > 0 && logits.stride(1) == 1 &&
                        (logits.size(0) == 1 || logits.stride(0) >= logits.size(1));
  if (!type || !has_rows || chunk.targets.scalar_type() != at::kLong) return {};
  const Launch launch(logits);
  const at::Tensor targets = chunk.targets.contiguous();
  const at::Tensor losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
  const at::Tensor loss = at::empty({}, logits.options().dtype(at::kDouble));
  launch_cross_entropy({.type = *type,
                        .logits = logits.mutable_data_ptr(),
                        .num_rows = logits.size(0),
                        .vocabulary = logits.size(1),
                        .stride = logits.stride(0),
                        .targets = targets.const_data_ptr<std::int64_t>(),
                        .ignored = chunk.ignored,
                        .with_gradient = with_gradient,
                        .losses = losses.mutable_data_ptr<float>(),
                        .loss = loss.mutable_data_ptr<double>()},
                       launch.stream());
  return {loss, with_gradient ? logits : at::Tensor()};
}

}  // namespace sheaf::nn
