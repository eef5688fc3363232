#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

// Both record nothing, compute in fp32 at least, and take matrices [rows, hidden] whose elements
// lie side by side, rows at any distance: halves of one matrix as well as matrices of their own.

/// Returns silu(gate) * up.
[[nodiscard]] at::Tensor swiglu_rows(const at::Tensor& gate, const at::Tensor& up);

struct SwigluGradients {
  at::Tensor gate;
  at::Tensor up;
  /// silu(gate) * up once more; undefined if not wanted.
  at::Tensor again;
};

/// Returns the gradients from that of the result. Of inputs that are the halves of one matrix
/// [rows, 2 hidden] they are the halves of one, too.
[[nodiscard]] SwigluGradients swiglu_rows_gradients(const at::Tensor& gate,
                                                    const at::Tensor& up,
                                                    const at::Tensor& of_result,
                                                    bool with_again);

}  // namespace sheaf::nn
