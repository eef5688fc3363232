#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sheaf::nn {

/// How a weight lies in memory: torch::nn::Linear and most models have [out, in], GPT-2's Conv1D
/// has [in, out].
enum class WeightLayout { out_in, in_out };

/// Returns x W + b over the last dim of `x`; an undefined `bias` adds nothing. On CPUs in fp32 each
/// of the three products goes to the library that is fastest at it.
[[nodiscard]] at::Tensor linear(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                WeightLayout layout = WeightLayout::out_in);

/// Returns gelu(x, tanh); backward makes what it needs from `x` alone.
[[nodiscard]] at::Tensor gelu_tanh(const at::Tensor& x);

/// Returns linear(gelu_tanh(x), weight, bias, layout). In fp32 on CPUs it keeps `x` but not its
/// gelu, which backward makes again: for a little time the memory of one activation less. There it
/// has no second derivative, and says so.
[[nodiscard]] at::Tensor gelu_linear(const at::Tensor& x,
                                     const at::Tensor& weight,
                                     const at::Tensor& bias,
                                     WeightLayout layout = WeightLayout::out_in);

/// Returns silu(gate) * up, keeping only its two inputs for backward.
[[nodiscard]] at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace sheaf::nn
