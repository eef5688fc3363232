#pragma once

#include "put_scaled.h"

namespace sheaf::nn {

/// put_scaled in the current stream; does not wait. Returns false where there is no kernel for the
/// types, as in a build without CUDA.
[[nodiscard]] bool put_scaled_on_cuda(const at::Tensor& values,
                                      const at::Tensor& factor,
                                      const at::Tensor& target,
                                      bool adds);

}  // namespace sheaf::nn
