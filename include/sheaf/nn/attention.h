#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

#include "sheaf/base/options.h"
#include "sheaf/nn/documents.h"
#include "sheaf/nn/dropout.h"

namespace sheaf::nn {

/// Which of ATen's attention kernels are tried first on CUDA: `automatic` is
/// cudnn on Hopper and later, unless all must be deterministic, and leaves it to ATen elsewhere.
enum class AttentionKernel { automatic, flash, cudnn, efficient, plain };

constexpr auto enum_names(AttentionKernel) {
  return std::array{EnumName{"automatic", AttentionKernel::automatic},
                    EnumName{"flash", AttentionKernel::flash},
                    EnumName{"cudnn", AttentionKernel::cudnn},
                    EnumName{"efficient", AttentionKernel::efficient},
                    EnumName{"plain", AttentionKernel::plain}};
}

/// Says which kernel attention() takes first on a CUDA device, in this process from now on. The
/// others stay allowed: where the first cannot, the next does. Where `automatic`
/// leaves it to ATen nothing changes.
void prefer_attention_kernel(AttentionKernel kernel, at::Device device);

struct AttentionOptions {
  bool causal = true;
  /// Dropped from the weights. ATen's fused kernels draw by rank, so with a probability above 0 the
  /// weights are made one by one, which costs their memory.
  DropoutSite dropout;
  Randomness random;
  /// In fp32 on CPUs what one document cannot see of another is never computed; elsewhere a mask
  /// hides it.
  Documents documents = {};
};

/// Returns softmax(q k^T / sqrt(size of a head)) v. Shapes are [batch, heads, length, size]; k and
/// v may have fewer heads, each shared by as many of q's that follow one another.
/// In fp32 on CPUs it has no second derivative, and says so.
[[nodiscard]] at::Tensor attention(const at::Tensor& q,
                                   const at::Tensor& k,
                                   const at::Tensor& v,
                                   const AttentionOptions& options);

}  // namespace sheaf::nn
