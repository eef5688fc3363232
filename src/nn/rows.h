#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/accumulate.h>

namespace sheaf::nn {

/// Returns `x` as a matrix whose rows are its last dim; in memory one row follows the other.
[[nodiscard]] inline at::Tensor as_rows(const at::Tensor& x) {
  const std::int64_t rows = c10::multiply_integers(x.sizes().slice(0, x.dim() - 1));
  return x.reshape({rows, x.size(-1)}).contiguous();
}

/// Returns the shape of `x` with another last dim.
[[nodiscard]] inline std::vector<std::int64_t> shape_with(const at::Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = last;
  return shape;
}

}  // namespace sheaf::nn
