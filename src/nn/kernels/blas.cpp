#include "blas.h"

#include <c10/util/Exception.h>

#include <array>

#include "torch_symbol.h"

namespace sheaf::nn {
namespace {

// As in Fortran: everything by address, columns instead of rows.
using Sgemm = void (*)(const char* transpose_a,
                       const char* transpose_b,
                       const int* m,
                       const int* n,
                       const int* k,
                       const float* alpha,
                       const float* a,
                       const int* stride_a,
                       const float* b,
                       const int* stride_b,
                       const float* beta,
                       float* c,
                       const int* stride_c);

Sgemm sgemm() {
  static const auto kFound = reinterpret_cast<Sgemm>(find_torch_symbol("sgemm_"));
  return kFound;
}

}  // namespace

bool has_blas() { return sgemm() != nullptr; }

void multiply_by_blas(const Product& product) {
  TORCH_INTERNAL_ASSERT(has_blas());
  // What is a row to us is a column there, so it sees transposes: c^T = b^T a^T.
  const auto [m, n, k] = std::array{
      static_cast<int>(product.n), static_cast<int>(product.m), static_cast<int>(product.k)};
  const int stride_a = static_cast<int>(product.b.stride);
  const int stride_b = static_cast<int>(product.a.stride);
  const int stride_c = static_cast<int>(product.c.stride);
  const float alpha = 1, beta = product.adds ? 1 : 0;
  sgemm()(product.transpose_b ? "T" : "N",
          product.transpose_a ? "T" : "N",
          &m,
          &n,
          &k,
          &alpha,
          product.b.data,
          &stride_a,
          product.a.data,
          &stride_b,
          &beta,
          product.c.data,
          &stride_c);
}

}  // namespace sheaf::nn
