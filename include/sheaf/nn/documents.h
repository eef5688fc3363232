#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Which tokens of packed texts belong together: documents that share a text see nothing of one
/// another.
struct Documents {
  /// Place of each token in its document, int64 [texts, length]. A document begins at each 0, and
  /// with each text. Undefined: every text is one document.
  at::Tensor positions;
  /// For kernels that compute what is hidden, too: document_mask() of causal attention, made ahead.
  /// Where it is undefined, attention() makes what it needs.
  at::Tensor causal_mask;

  [[nodiscard]] bool defined() const { return positions.defined(); }
};

/// Returns what attention() adds to scores of `type`: [texts, 1, length, length], 0 where a token
/// sees another, minus infinity elsewhere.
[[nodiscard]] at::Tensor document_mask(const at::Tensor& positions,
                                       bool causal,
                                       at::ScalarType type);

/// Returns documents for the layers of one pass, whose heads are like `x` in type and device: with
/// a mask that all of them share, unless their kernel does without.
[[nodiscard]] Documents documents_for(const at::Tensor& positions, const at::Tensor& x);

}  // namespace sheaf::nn
