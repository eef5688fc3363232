#pragma once

#include <cstdint>

namespace sheaf::nn {

/// Rows of fp32 numbers that start `stride` elements apart.
struct Matrix {
  float* data = nullptr;
  std::int64_t stride = 0;

  [[nodiscard]] Matrix from_row(std::int64_t row) const { return {data + row * stride, stride}; }
  [[nodiscard]] Matrix from_column(std::int64_t column) const { return {data + column, stride}; }
};

/// c = a b, or c += a b, where c is [m, n] and the inner dim is k. A matrix that is transposed lies
/// in memory as its transpose.
struct Product {
  Matrix a;
  Matrix b;
  Matrix c;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool adds = false;
  bool transpose_a = false;
  bool transpose_b = false;
};

/// Says whether multiply() can be called.
[[nodiscard]] bool has_gemm();

/// Multiplies without an operator's cost, in tiles or by BLAS, whichever is the faster one here.
void multiply(const Product& product);

}  // namespace sheaf::nn
