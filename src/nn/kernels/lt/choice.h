#pragma once

#include <cublasLt.h>

#include <cstddef>

namespace sheaf::nn::lt {

/// An algorithm and the memory that it needs beside the matrices.
struct Choice {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
};

}  // namespace sheaf::nn::lt
