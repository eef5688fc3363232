#pragma once

#include "fused_product.h"

namespace sheaf::nn {

// Products of fp32 matrices on a CPU.

/// Multiplies by the BLAS that LibTorch brings, a few rows after the other with all that is done to
/// them. Returns false where it cannot.
[[nodiscard]] bool product_by_blas(const FusedProduct& product);

/// The same in tiles; see tiles.h.
[[nodiscard]] bool product_by_tiles(const FusedProduct& product);

/// The faster one of the two here.
[[nodiscard]] bool product_on_cpu(const FusedProduct& product);

}  // namespace sheaf::nn
