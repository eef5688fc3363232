#include "sheaf/nn/attention.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu_attention.h"
#include "kernels/gpu_kind.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

void check_shapes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const bool fits = q.dim() == 4 && k.dim() == 4 && k.sizes() == v.sizes() &&
                    q.size(0) == k.size(0) && q.size(2) == k.size(2) && q.size(3) == k.size(3) &&
                    k.size(1) > 0 && q.size(1) % k.size(1) == 0;
  if (fits) return;
  throw UsageError(fmt::format(
      "attention needs q, k and v [batch, heads, length, size], with as many heads of q "
      "for each of k and v, got {}, {} and {}",
      fmt::streamed(q.sizes()),
      fmt::streamed(k.sizes()),
      fmt::streamed(v.sizes())));
}

void check_documents(const at::Tensor& q, const Documents& documents) {
  const at::Tensor& positions = documents.positions;
  if (!positions.defined()) return;
  const bool fits = positions.dim() == 2 && positions.size(0) == q.size(0) &&
                    positions.size(1) == q.size(2) && positions.scalar_type() == at::kLong &&
                    positions.device() == q.device();
  if (fits) return;
  throw UsageError(
      fmt::format("attention needs positions of documents as int64 [batch, length] beside q of {} "
                  "on {}, got {} {} on {}",
                  fmt::streamed(q.sizes()),
                  q.device().str(),
                  c10::toString(positions.scalar_type()),
                  fmt::streamed(positions.sizes()),
                  positions.device().str()));
}

/// Returns `x` with each head repeated until there are `num_heads`.
at::Tensor with_heads(const at::Tensor& x, std::int64_t num_heads) {
  return x.size(1) == num_heads ? x : x.repeat_interleave(num_heads / x.size(1), 1);
}

at::Tensor mask_for(const at::Tensor& q, const AttentionOptions& options) {
  const auto& [positions, causal_mask] = options.documents;
  if (options.causal && causal_mask.defined()) return causal_mask.to(q.scalar_type());
  return document_mask(positions, options.causal, q.scalar_type());
}

/// Makes all weights, so that each can be dropped by its place.
at::Tensor explicit_attention(const at::Tensor& q,
                              const at::Tensor& k,
                              const at::Tensor& v,
                              const AttentionOptions& options) {
  const std::int64_t length = q.size(2);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  at::Tensor scores = at::matmul(q * scale, with_heads(k, q.size(1)).transpose(-1, -2));
  if (options.documents.defined()) {
    scores = scores + mask_for(q, options);
  } else if (options.causal) {
    const at::Tensor later = at::ones({length, length}, q.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor weights = scores.softmax(-1);
  return at::matmul(dropout(weights, options.dropout, options.random), with_heads(v, q.size(1)));
}

/// Heads of keys and values are repeated: with a mask, ATen's fused kernels cannot share them.
at::Tensor masked_attention(const at::Tensor& q,
                            const at::Tensor& k,
                            const at::Tensor& v,
                            const AttentionOptions& options) {
  return at::scaled_dot_product_attention(
      q, with_heads(k, q.size(1)), with_heads(v, q.size(1)), mask_for(q, options));
}

/// On Hopper and later cuDNN's kernels are the fastest, but may add up in another order each time.
AttentionKernel resolve(AttentionKernel kernel, at::Device device) {
  constexpr int kHopper = 9;
  const bool is_best =
      compute_capability(device) >= kHopper && !at::globalContext().deterministicAlgorithms();
  return kernel == AttentionKernel::automatic && is_best ? AttentionKernel::cudnn : kernel;
}

at::SDPBackend backend_of(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::automatic:
    case AttentionKernel::flash:
      return at::SDPBackend::flash_attention;
    case AttentionKernel::cudnn:
      return at::SDPBackend::cudnn_attention;
    case AttentionKernel::efficient:
      return at::SDPBackend::efficient_attention;
    case AttentionKernel::plain:
      return at::SDPBackend::math;
  }
  throw UsageError("unknown attention kernel");
}

}  // namespace

void prefer_attention_kernel(AttentionKernel wanted, at::Device device) {
  const AttentionKernel kernel = resolve(wanted, device);
  if (kernel == AttentionKernel::automatic) return;
  // On some GPUs ATen's first choice sets an order of its own, so that must lie behind us.
  if (device.is_cuda()) {
    const at::Tensor any = at::zeros({1, 1, 8, 8}, at::TensorOptions(device).dtype(at::kHalf));
    static_cast<void>(at::_fused_sdp_choice(any, any, any));
  }
  auto order = at::globalContext().sDPPriorityOrder();
  const at::SDPBackend first = backend_of(kernel);
  std::stable_partition(order.begin(), order.end(), [&](auto each) { return each == first; });
  std::vector<std::int64_t> numbers;
  numbers.reserve(order.size());
  for (const at::SDPBackend each : order) numbers.push_back(static_cast<std::int64_t>(each));
  at::globalContext().setSDPPriorityOrder(numbers);
}

at::Tensor attention(const at::Tensor& q,
                     const at::Tensor& k,
                     const at::Tensor& v,
                     const AttentionOptions& options) {
  check_shapes(q, k, v);
  check_documents(q, options.documents);
  if (options.dropout.probability != 0) return explicit_attention(q, k, v, options);
  if (has_cpu_attention(q, k, v)) return cpu_attention(q, k, v, options);
  if (options.documents.defined()) return masked_attention(q, k, v, options);
  return at::scaled_dot_product_attention(q,
                                          k,
                                          v,
                                          /*attn_mask=*/{},
                                          /*dropout_p=*/0.0,
                                          options.causal,
                                          /*scale=*/{},
                                          /*enable_gqa=*/k.size(1) != q.size(1));
}

}  // namespace sheaf::nn
