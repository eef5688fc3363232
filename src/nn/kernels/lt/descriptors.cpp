#include "descriptors.h"

#include <algorithm>

namespace sheaf::nn::lt {
namespace {

cudaDataType_t type_of(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return CUDA_R_16BF;
    case at::kHalf:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const Shape& shape) {
  return shape.factors == at::kFloat && shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                   : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue_of(const Shape& shape) {
  if (shape.gelu) {
    return shape.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  }
  return shape.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

/// Row by row, d = a b is column by column the product of b's and a's transposes.
Descriptors::Descriptors(const Library& library, const Shape& shape, const Memory& memory)
    : library_(library), shape_(shape), memory_(memory) {
  valid_ = library.init_product(&product_, sizeof product_, compute_type(shape), CUDA_R_32F) ==
           CUBLAS_STATUS_SUCCESS;
  const cublasOperation_t of_b = shape.b.columns ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_a = shape.a.columns ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, of_b);
  set(CUBLASLT_MATMUL_DESC_TRANSB, of_a);
  describe_matrices();
  describe_end();
}

template <class Value>
void Descriptors::set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  valid_ = valid_ && library_.set_of_product(&product_, attribute, &value, sizeof value) ==
                         CUBLAS_STATUS_SUCCESS;
}

void Descriptors::describe_matrices() {
  const auto describe = [&](cublasLtMatrixLayoutOpaque_t& matrix,
                            at::ScalarType type,
                            std::int64_t rows,
                            std::int64_t columns,
                            const Matrix& how) {
    const auto height = static_cast<std::uint64_t>(how.columns ? columns : rows);
    const auto width = static_cast<std::uint64_t>(how.columns ? rows : columns);
    valid_ = valid_ && library_.init_matrix(
                           &matrix, sizeof matrix, type_of(type), height, width, how.leading) ==
                           CUBLAS_STATUS_SUCCESS;
  };
  describe(a_, shape_.factors, shape_.n, shape_.k, shape_.b);
  describe(b_, shape_.factors, shape_.k, shape_.m, shape_.a);
  describe(c_, shape_.result, shape_.n, shape_.m, shape_.c);
  describe(d_, shape_.result, shape_.n, shape_.m, shape_.d);
}

void Descriptors::describe_end() {
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape_));
  if (shape_.bias) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory_.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(shape_.factors));
  }
  if (!shape_.gelu) return;
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory_.inner);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape_.inner.leading);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type_of(shape_.factors));
}

int Descriptors::propose(cublasLtHandle_t handle,
                         std::size_t workspace,
                         cublasLtMatmulHeuristicResult_t* results,
                         int most) {
  if (!valid_) return 0;
  cublasLtMatmulPreferenceOpaque_t wish{};
  if (library_.init_preference(&wish, sizeof wish) != CUBLAS_STATUS_SUCCESS) return 0;
  const auto ask = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    static_cast<void>(library_.set_of_preference(&wish, what, &value, sizeof value));
  };
  ask(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(kAlignment));
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(kAlignment));
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(kAlignment));
  ask(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(kAlignment));
  // Sums in the order in which blocks happen to end would differ from run to run.
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK &
                                   ~static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_INPLACE);
  ask(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  int found = 0;
  const cublasStatus_t status =
      library_.propose(handle, &product_, &a_, &b_, &c_, &d_, &wish, most, results, &found);
  return status == CUBLAS_STATUS_SUCCESS ? found : 0;
}

bool Descriptors::run(cublasLtHandle_t handle,
                      const cublasLtMatmulAlgo_t& algorithm,
                      void* workspace,
                      std::size_t workspace_size,
                      cudaStream_t stream) {
  const float alpha = 1;
  const float beta = shape_.adds ? 1 : 0;
  return library_.multiply(handle,
                           &product_,
                           &alpha,
                           memory_.b,
                           &a_,
                           memory_.a,
                           &b_,
                           &beta,
                           memory_.c,
                           &c_,
                           memory_.d,
                           &d_,
                           &algorithm,
                           workspace,
                           workspace_size,
                           stream) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace sheaf::nn::lt
