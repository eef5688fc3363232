#pragma once

#include <cublasLt.h>

namespace sheaf::nn::lt {

/// The functions of cuBLASLt that are used here. LibTorch brings the library along but its users
/// are not linked to it, so they are looked up.
struct Library {
  decltype(&cublasLtMatmulDescInit_internal) init_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_of_product = nullptr;
  decltype(&cublasLtMatrixLayoutInit_internal) init_matrix = nullptr;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_of_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) propose = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
};

/// Returns null where there is no such library.
[[nodiscard]] const Library* library();

}  // namespace sheaf::nn::lt
