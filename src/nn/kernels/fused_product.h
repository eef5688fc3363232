#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// result = a b, and what is done with it while it is still on the chip. Matrices may be transposed
/// views. Everything that is undefined is left out.
struct FusedProduct {
  at::Tensor a;  // [m, k]
  at::Tensor b;  // [k, n]
  /// [m, n]; made in the type of `a` where undefined. May be fp32 where the factors are narrow.
  at::Tensor result = {};
  /// Adds to what is in `result`.
  bool adds = false;
  /// [m, n], added to the product.
  at::Tensor residual = {};
  /// [n], added to each row.
  at::Tensor bias = {};
  /// [m, n]: where defined, gets the result, and the result itself becomes gelu (tanh) of it.
  at::Tensor inner = {};
};

/// Computes the product, on a GPU by the fastest algorithm that cuBLASLt has for the shape, but in
/// full fp32 by LibTorch; returns the result. Derivatives are not recorded.
at::Tensor fused_product(const FusedProduct& product);

}  // namespace sheaf::nn
