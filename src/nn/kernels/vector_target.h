#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

/// Memory for the gradient of a vector: written, or added to.
struct VectorTarget {
  at::Tensor memory;
  bool adds = false;
};

}  // namespace sheaf::nn
