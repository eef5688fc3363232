#pragma once

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

/// The types that kernels for GPUs are made for; all compute in fp32.
enum class ElementType { fp32, bf16, fp16 };

}  // namespace sheaf::nn
