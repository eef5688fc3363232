#pragma once

#include <ATen/core/Tensor.h>

#include "sheaf/module/gradient_sink.h"

namespace sheaf::nn {

class PendingSums;

/// Memory for the gradient of a vector: written, or added to.
struct VectorTarget {
  at::Tensor memory;
  bool adds = false;
  /// Who may be left to write it, on GPUs; null: it is written right away.
  PendingSums* later = nullptr;
  /// Who that may leave it to in turn; see module::GradientTarget.
  module::Beside* beside = nullptr;
};

}  // namespace sheaf::nn
