#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Returns x / sqrt(mean(x^2) + epsilon) * weight over the last dim; the mean is taken in fp32, or
/// in fp64 for fp64.
[[nodiscard]] at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// Returns (x - mean) / sqrt(variance + epsilon) * weight + bias over the last dim, both taken in
/// fp32, or in fp64 for fp64.
[[nodiscard]] at::Tensor layer_norm(const at::Tensor& x,
                                    const at::Tensor& weight,
                                    const at::Tensor& bias,
                                    double epsilon);

}  // namespace sheaf::nn
