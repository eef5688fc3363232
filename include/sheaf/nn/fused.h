#pragma once

#include "sheaf/base/options.h"

namespace sheaf::nn {

/// Which parts of a model are computed in one piece. What is off is left to LibTorch's operators,
/// one after the other: slower, and with more memory, but the same numbers but for rounding.
struct Fused {
  /// A norm and the projections behind it; backward makes the norm again instead of keeping it.
  bool norm = true;
  /// The feed-forward part, with its norm and the residual around it.
  bool mlp = true;
  /// A projection and the residual it is added to.
  bool residual = true;
  /// The head and the loss, in chunks, with the gradient in the same pass.
  bool loss = true;

  [[nodiscard]] static Fused none() { return {false, false, false, false}; }
  bool operator==(const Fused&) const = default;
};

template <class Fields>
void describe(Fields& field, Fused& fused) {
  field("norm", fused.norm, "a norm and the projections behind it in one piece");
  field("mlp", fused.mlp, "the feed-forward part in one piece");
  field("residual", fused.residual, "residuals are added by the product in front");
  field("loss", fused.loss, "head and loss in chunks, with the gradient in the same pass");
}

}  // namespace sheaf::nn
