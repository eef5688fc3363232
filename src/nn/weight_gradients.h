#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

#include "kernels/vector_target.h"
#include "sheaf/module/gradient_sink.h"

namespace sheaf::nn {

// Gradients of parameters, for the backward of a torch::autograd::Function: of its tensor argument
// number `input`. They are written where they belong if somebody has a place for them, and nothing
// is returned then; see module::open_gradient().

/// Opens the place of a gradient of a parameter of `type`: in fp32, too, where that is narrower.
[[nodiscard]] module::GradientTarget open_product_gradient(std::size_t input, at::ScalarType type);

/// Takes a^T b for matrices, where the gradient's place is open already.
[[nodiscard]] at::Tensor product_gradient(const module::GradientTarget& target,
                                          const at::Tensor& a,
                                          const at::Tensor& b);
[[nodiscard]] at::Tensor product_gradient(std::size_t input,
                                          const at::Tensor& a,
                                          const at::Tensor& b);

/// Takes the sum of a matrix's rows; `later` may be left to write it.
[[nodiscard]] at::Tensor sum_gradient(std::size_t input,
                                      const at::Tensor& rows,
                                      PendingSums* later = nullptr);

/// A place for sums that are made on the way, for a parameter of `size` elements, or as long as the
/// rows of `like`, typed and placed as `like` is.
class SumTarget {
 public:
  SumTarget(std::size_t input, const at::Tensor& like, std::int64_t size);
  SumTarget(std::size_t input, const at::Tensor& like) : SumTarget(input, like, like.size(1)) {}
  [[nodiscard]] VectorTarget place(PendingSums* later = nullptr) const {
    return {memory_, target_ && !target_.is_new, later, later != nullptr ? beside() : nullptr};
  }
  [[nodiscard]] module::Beside* beside() const { return target_.beside; }
  /// Returns the gradient, or nothing where it is in its place.
  [[nodiscard]] at::Tensor gradient() const { return target_ ? at::Tensor() : memory_; }

 private:
  module::GradientTarget target_;
  at::Tensor memory_;
};

}  // namespace sheaf::nn
