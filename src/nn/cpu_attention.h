#pragma once

#include <ATen/core/Tensor.h>

#include "sheaf/nn/attention.h"

namespace sheaf::nn {

/// Says whether cpu_attention() can take these: fp32 on a CPU, and a BLAS to call.
[[nodiscard]] bool has_cpu_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

/// Returns what attention() returns without dropout. A block of queries meets all its keys at once;
/// what a causal block cannot see, and other documents, are never computed. Keeps the output and
/// one number per query.
[[nodiscard]] at::Tensor cpu_attention(const at::Tensor& q,
                                       const at::Tensor& k,
                                       const at::Tensor& v,
                                       const AttentionOptions& options);

}  // namespace sheaf::nn
