#pragma once

#include <ATen/core/Tensor.h>

namespace sheaf::nn {

class PendingSums;

/// Memory for the gradient of a vector: written, or added to.
struct VectorTarget {
  at::Tensor memory;
  bool adds = false;
  /// Who may be left to write it, on GPUs; null: it is written right away.
  PendingSums* later = nullptr;
};

}  // namespace sheaf::nn
