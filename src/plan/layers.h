#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/pass.h"

// What the layers of src/nn make, keep and let go, in forward and in backward. A function that
// takes a handle by value lets it go at its end, as an autograd node does with its input.

namespace sheaf::plan {

/// A weight, and where it stands among the parameters; its bias, if there is one, stands behind it.
struct Weight {
  std::size_t place = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = false;
};

/// Writes down a weight's gradient, which lies in memory of its own where the engine's has another
/// type.
void weight_gradient(const Pass& pass, const Weight& weight);
/// Returns the gradient of a linear layer's input.
[[nodiscard]] Held linear_backward(const Pass& pass, Held gradient, const Weight& weight);

/// Whether backward makes norms again instead of keeping them; see nn::attention_inputs.
[[nodiscard]] bool makes_norms_again(const Pass& pass);

/// A norm's weight among the parameters; its bias, if there is one, stands behind it.
struct Norm {
  std::size_t place = 0;
  bool bias = false;
};

/// A norm in one piece with what is behind it, in forward and in backward, where the gradient of
/// the path around it is added and the norm made again, for the gradients of weights.
[[nodiscard]] Held fused_norm_forward(const Pass& pass,
                                      Held& statistics,
                                      std::int64_t numbers_per_row);
[[nodiscard]] Held fused_norm_backward(const Pass& pass,
                                       const Norm& norm,
                                       const std::vector<Weight>& weights);

/// nn::dropout, in forward and in backward (there `made` takes what is temporary).
[[nodiscard]] Held dropout_forward(const Pass& pass, Held x, std::int64_t columns);
[[nodiscard]] Held dropout_backward(const Pass& pass, Held gradient, std::int64_t columns);

/// What a norm keeps besides its input: two numbers per row of a layer norm, one of an RMS norm.
[[nodiscard]] Held layer_norm_forward(const Pass& pass, Held& statistics);
[[nodiscard]] Held layer_norm_backward(const Pass& pass, Held gradient, std::size_t place);
[[nodiscard]] Held rms_norm_forward(const Pass& pass, Held& statistics);
[[nodiscard]] Held rms_norm_backward(const Pass& pass, Held gradient, std::size_t place);

/// What attention keeps.
struct AttentionSaved {
  Held q, k, v;
  Held output;
  /// A number per query and head of fused attention.
  Held sums;
  /// All weights, and what dropout has left of them, where they are made one by one.
  Held weights, dropped, mask;
};

/// Whether the inputs of attention are rows of heads, as a linear layer leaves them, or heads one
/// after the other, as rotation does.
enum class HeadLayout { rows, heads };

/// Returns what joins the heads again: rows of the width.
[[nodiscard]] Held attention_forward(const Pass& pass, AttentionSaved& saved, HeadLayout layout);

struct AttentionGradients {
  Held q, k, v;
};
[[nodiscard]] AttentionGradients attention_backward(const Pass& pass,
                                                    Held gradient,
                                                    AttentionSaved saved);

}  // namespace sheaf::plan
