#pragma once

#include "fused_product.h"

namespace sheaf::nn {

// Products of fp32 matrices on a CPU.

/// Multiplies by the BLAS that LibTorch brings, a few rows after the other with all that is done to
/// them. Returns false where it cannot.
[[nodiscard]] bool product_by_blas(const FusedProduct& product);

/// Multiplies by oneDNN into memory that it takes itself. Returns an undefined tensor where it
/// cannot, or the memory is given.
[[nodiscard]] at::Tensor product_by_one_dnn(const FusedProduct& product);

}  // namespace sheaf::nn
