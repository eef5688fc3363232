#pragma once

#include "fused_product.h"

namespace sheaf::nn {

/// Computes the product by cuBLASLt. Returns false, with nothing changed, where the library has no
/// way to do all of it at once.
[[nodiscard]] bool product_on_cuda(const FusedProduct& product);

}  // namespace sheaf::nn
