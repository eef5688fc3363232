#pragma once

#include "gemm.h"

namespace sheaf::nn {

/// Says whether LibTorch's library has a BLAS that multiply_by_blas() can call.
[[nodiscard]] bool has_blas();

/// Multiplies by the BLAS that LibTorch brings, outside of a parallel region on threads of its own.
void multiply_by_blas(const Product& product);

}  // namespace sheaf::nn
