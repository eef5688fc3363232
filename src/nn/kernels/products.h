#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Says whether LibTorch was built with oneDNN.
[[nodiscard]] bool has_one_dnn();

/// Says whether oneDNN is the fastest way to multiply fp32 matrices here. Else it is the BLAS that
/// LibTorch brings: on Intel's processors, whose maker wrote it, by 5 to 9 % (2 cores with
/// AVX-512); on an AMD EPYC oneDNN was the faster one by 19 %.
[[nodiscard]] bool prefers_one_dnn();

/// Returns x w^T + bias for fp32 matrices on a CPU by oneDNN, or an undefined tensor where it
/// cannot: LibTorch may be built without it, and its operator has no derivative.
[[nodiscard]] at::Tensor times_transposed_by_one_dnn(const at::Tensor& x,
                                                     const at::Tensor& w,
                                                     const at::Tensor& bias);

/// Returns x w^T + bias for matrices; an undefined `bias` adds nothing.
[[nodiscard]] at::Tensor times_transposed(const at::Tensor& x,
                                          const at::Tensor& w,
                                          const at::Tensor& bias = {});

}  // namespace sheaf::nn
