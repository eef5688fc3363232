#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Writes `values` times `factor`, a scalar beside them, to `target`, or adds that to what is
/// there. Computes in fp32 at least and rounds once; `target` may be `values`. Both are of one
/// shape. Records nothing.
void put_scaled(const at::Tensor& values,
                const at::Tensor& factor,
                const at::Tensor& target,
                bool adds = false);

}  // namespace sheaf::nn
