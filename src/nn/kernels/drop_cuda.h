#pragma once

#include <ATen/core/Tensor.h>

#include "elements.h"

namespace sheaf::nn {

/// Drops on the device of `input`, whose elements `all` are, in its current stream; does not wait.
/// Gives the bits that the CPU gives. Throws UsageError in a build without CUDA.
void drop_on_cuda(const DropElements& all, const DropRule& rule, const at::Tensor& input);

}  // namespace sheaf::nn
