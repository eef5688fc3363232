#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "sheaf/nn/linear.h"
#include "sheaf/nn/rotary.h"

// The two halves of a transformer's block in a few pieces. They keep little for backward: the input
// and two numbers per row instead of its norm, and what gelu or silu is taken of instead of the
// result; backward makes the rest again. All parameters of a call have one type, that of the input.
// None of them has a second derivative.

namespace sheaf::nn {

/// LayerNorm; without a bias the norm by the root of the mean square.
struct NormParameters {
  at::Tensor weight;
  at::Tensor bias = {};
  double epsilon = 1e-5;
};

struct Projected {
  at::Tensor weight;
  at::Tensor bias = {};
};

/// What attention starts from: [batch, length, heads * size] each.
struct AttentionInputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  /// The input itself, for the residual: its gradient is added where that of the norm is made.
  at::Tensor residual;
};

struct AttentionInputOptions {
  /// Sizes of the heads of q and of k and v, all heads together.
  std::int64_t q_size = 0;
  std::int64_t kv_size = 0;
  std::int64_t head_size = 0;
  WeightLayout layout = WeightLayout::out_in;
  /// Rotates q and k.
  std::optional<RotaryTable> rotary = std::nullopt;
};

/// Returns the projections of norm(x), [batch, length, width]: one that gives q, k and v one after
/// the other, or three. Three without biases that lie one after the other in memory are one
/// product.
[[nodiscard]] AttentionInputs attention_inputs(const at::Tensor& x,
                                               const NormParameters& norm,
                                               const std::vector<Projected>& projections,
                                               const AttentionInputOptions& options);

/// Returns residual + x W + b; an undefined bias adds nothing.
[[nodiscard]] at::Tensor linear_with_residual(const at::Tensor& x,
                                              const Projected& projection,
                                              const at::Tensor& residual,
                                              WeightLayout layout = WeightLayout::out_in);

/// Returns x + out(gelu(in(norm(x)))).
[[nodiscard]] at::Tensor gelu_mlp(const at::Tensor& x,
                                  const NormParameters& norm,
                                  const Projected& in,
                                  const Projected& out,
                                  WeightLayout layout = WeightLayout::out_in);

/// Returns x + down(silu(gate(norm(x))) * up(norm(x))), without biases. Gate and up that lie one
/// after the other in memory are one product.
[[nodiscard]] at::Tensor swiglu_mlp(const at::Tensor& x,
                                    const NormParameters& norm,
                                    const at::Tensor& gate,
                                    const at::Tensor& up,
                                    const at::Tensor& down);

}  // namespace sheaf::nn
