#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace sheaf::module {

/// Where a layer writes a parameter's gradient itself.
struct GradientTarget {
  /// Shaped as the parameter. Undefined: the gradient goes to LibTorch as usual.
  at::Tensor memory;
  /// Whether there are no values yet: all of it is to be written then, else added to.
  bool is_new = false;

  explicit operator bool() const { return memory.defined(); }
};

/// Takes the gradients of one parameter from layers that can write them where they belong, so that
/// nothing is copied. Who wants to be it adds a hook to the parameter's gradient accumulator (see
/// LibTorch's Node::add_post_hook) that is a GradientSink as well.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Returns memory of `type`, or nothing. What is returned will be filled right away.
  virtual GradientTarget open(at::ScalarType type) = 0;
};

/// For layers, in the backward of a torch::autograd::Function: returns where the gradient of its
/// tensor argument number `input` may be written. The gradient that the layer then returns must be
/// undefined. Gives nothing where others want to see the gradient: in passes that compute chosen
/// gradients or higher derivatives, and where the parameter has hooks of the user's.
[[nodiscard]] GradientTarget open_gradient(std::size_t input, at::ScalarType type);

}  // namespace sheaf::module
