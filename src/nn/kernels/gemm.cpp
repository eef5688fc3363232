#include "gemm.h"

#include "blas.h"
#include "tiles.h"

namespace sheaf::nn {

bool has_gemm() { return has_blas() || has_tiles(); }

void multiply(const Product& product) {
  if (prefers_tiles(product.m, product.n) || !has_blas()) return multiply_by_tiles({product});
  multiply_by_blas(product);
}

}  // namespace sheaf::nn
