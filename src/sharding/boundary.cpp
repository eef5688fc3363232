#include "boundary.h"

#include <ATen/core/grad_mode.h>

#include "engine.h"

namespace sheaf::sharding {

module::Tensors Boundary::run(
    const module::Tensors& inputs,
    const std::function<module::Tensors(const module::Tensors&)>& forward) {
  const std::shared_ptr<Engine> engine = engine_.lock();
  if (!engine) return forward(inputs);
  if (is_root_) engine->enter_model();
  if (!unit_) return forward(cast(*engine, inputs));
  engine->enter_forward(*unit_);
  module::Tensors outputs;
  try {
    outputs = forward(is_root_ ? cast(*engine, inputs) : inputs);
  } catch (...) {
    engine->leave_forward(*unit_);
    throw;
  }
  if (at::GradMode::is_enabled()) hook_backward(inputs, outputs);
  engine->leave_forward(*unit_);
  return outputs;
}

module::Tensors Boundary::cast(const Engine& engine, const module::Tensors& inputs) const {
  const auto compute = engine.context().options.precision.compute;
  if (!compute) return inputs;
  module::Tensors cast;
  for (const at::Tensor& input : inputs) {
    const bool floating = input.defined() && input.is_floating_point();
    cast.push_back(floating ? input.to(*compute) : input);
  }
  return cast;
}

/// Backward reaches the unit with the gradient of an output, and leaves it with that of an input.
/// Where no input has one, the end of the pass does.
void Boundary::hook_backward(const module::Tensors& inputs, const module::Tensors& outputs) const {
  for (const at::Tensor& output : outputs) {
    if (!output.defined() || !output.requires_grad()) continue;
    output.register_hook([engine = engine_, unit = *unit_](const at::Tensor&) {
      if (const auto alive = engine.lock()) alive->enter_backward(unit);
    });
  }
  for (const at::Tensor& input : inputs) {
    // A leaf keeps its hooks for ever, so it gets none.
    if (!input.defined() || !input.requires_grad() || input.is_leaf()) continue;
    input.register_hook([engine = engine_, unit = *unit_](const at::Tensor&) {
      if (const auto alive = engine.lock()) alive->leave_backward(unit);
    });
  }
}

}  // namespace sheaf::sharding
