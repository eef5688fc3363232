#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

namespace sheaf::nn::lt {

/// Addresses and rows of all matrices are multiples of it. Algorithms that want more are not taken,
/// so that where a parameter lies decides nothing.
constexpr std::int64_t kAlignment = 16;

/// A matrix as cuBLASLt sees it, whose own are column by column: one that lies row by row is its
/// transpose there.
struct Matrix {
  std::int64_t leading = 0;
  /// Whether it lies column by column.
  bool columns = false;
};

/// What decides which algorithms fit and which is fastest.
struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  at::ScalarType factors = at::kFloat;
  at::ScalarType result = at::kFloat;
  Matrix a;
  Matrix b;
  Matrix d;
  /// Of the matrix that is added; the result's where nothing is.
  Matrix c;
  Matrix inner;
  /// Whether something is added to the product: the result's own old values, or another matrix.
  bool adds = false;
  bool bias = false;
  /// fp32 factors may be rounded to tf32.
  bool tf32 = false;
  bool gelu = false;
  /// Bytes that an algorithm may need beside the matrices.
  std::size_t workspace = 0;
  /// The library's first guess is wanted, which is the same on every machine of a kind.
  bool guessed = false;
};

/// Where the matrices of one product are.
struct Memory {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  void* inner = nullptr;
};

}  // namespace sheaf::nn::lt
