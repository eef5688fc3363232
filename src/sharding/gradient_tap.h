#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "sheaf/module/gradient_sink.h"

namespace torch::autograd {
struct Node;
}

namespace sheaf::sharding {

/// What someone wants to know of a parameter's gradient.
struct GradientListener {
  /// A backward pass is about to add to it.
  std::function<void()> before;
  /// All uses of the parameter in a pass have added to it, or written it themselves.
  std::function<void()> after;
  /// A layer wants to write it; see module::GradientSink.
  std::function<module::GradientTarget(at::ScalarType)> open;
  /// A layer has it before backward, and says in backward that it was meant.
  std::function<module::EarlyGradientPtr(at::ScalarType)> lend;
  std::function<bool(const module::EarlyGradient&)> settle;
};

/// Listens while it lives.
class GradientTap {
 public:
  GradientTap(const at::Tensor& parameter, GradientListener listener);
  ~GradientTap();
  GradientTap(const GradientTap&) = delete;
  GradientTap& operator=(const GradientTap&) = delete;

 private:
  /// Parameters hold theirs weakly, and a new one would have no hooks.
  std::shared_ptr<torch::autograd::Node> accumulator_;
  std::uintptr_t hook_ = 0;
};

/// Tells whether someone listens.
[[nodiscard]] bool is_tapped(const at::Tensor& parameter);

}  // namespace sheaf::sharding
