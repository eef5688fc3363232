#pragma once

#include <cublasLt.h>

#include "library.h"
#include "shape.h"

namespace sheaf::nn::lt {

/// A product in cuBLASLt's own terms; without memory of the library's, so it is made for each call.
class Descriptors {
 public:
  Descriptors(const Library& library, const Shape& shape, const Memory& memory);

  /// Whether the library knows such a product at all.
  [[nodiscard]] bool valid() const { return valid_; }

  /// Returns the number of algorithms that were proposed, best guess first.
  [[nodiscard]] int propose(cublasLtHandle_t handle,
                            std::size_t workspace,
                            cublasLtMatmulHeuristicResult_t* results,
                            int most);
  /// Starts the product in `stream`; returns false if the library refuses.
  [[nodiscard]] bool run(cublasLtHandle_t handle,
                         const cublasLtMatmulAlgo_t& algorithm,
                         void* workspace,
                         std::size_t workspace_size,
                         cudaStream_t stream);

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value);
  void describe_matrices();
  void describe_end();

  const Library& library_;
  const Shape& shape_;
  const Memory& memory_;
  bool valid_ = true;
  cublasLtMatmulDescOpaque_t product_{};
  cublasLtMatrixLayoutOpaque_t a_{};
  cublasLtMatrixLayoutOpaque_t b_{};
  cublasLtMatrixLayoutOpaque_t c_{};
  cublasLtMatrixLayoutOpaque_t d_{};
};

}  // namespace sheaf::nn::lt
