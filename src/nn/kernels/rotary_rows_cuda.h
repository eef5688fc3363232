#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Tables of cosines and sines as rotate_rows_ takes them.
struct RotaryAngles {
  at::Tensor cosines;
  at::Tensor sines;
  /// 1, or -1 to rotate back.
  int sign = 1;
};

/// Rotates `from` into `to`, which may be the same, in the current stream; does not wait. Returns
/// false where there is no kernel for the types or strides, as in a build without CUDA.
[[nodiscard]] bool rotate_on_cuda(const at::Tensor& from,
                                  const at::Tensor& to,
                                  const RotaryAngles& by);

}  // namespace sheaf::nn
