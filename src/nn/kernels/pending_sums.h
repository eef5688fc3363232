#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "column_sums_kernel.h"
#include "sheaf/module/gradient_sink.h"

namespace sheaf::nn {

/// Column sums on a GPU whose parts are there, or will be in the current stream, but not their
/// totals. A layer's backward pass has several, and one kernel for all instead of one for each
/// saves launches, which is what they cost.
class PendingSums {
 public:
  PendingSums() = default;
  PendingSums(const PendingSums&) = delete;
  PendingSums& operator=(const PendingSums&) = delete;

  /// `parts` is the memory of the sum's parts; `beside`, who may be left to add them up, or null.
  void add(const PartsSum& sum, at::Tensor parts, module::Beside* beside = nullptr);
  /// Adds them up, beside the current stream if all may be, else in it; does not wait. To be called
  /// before the targets are used.
  void finish();

 private:
  std::vector<PartsSum> sums_;
  std::vector<at::Tensor> parts_;
  /// The same for all of them; without CUDA nobody asks.
  [[maybe_unused]] module::Beside* beside_ = nullptr;
};

}  // namespace sheaf::nn
