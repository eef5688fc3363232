#include "sheaf/module/gradient_sink.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace sheaf::module {
namespace {

using torch::autograd::Node;

/// Tells whether the running pass computes some gradients only, which it then hands to its caller.
bool gathers_chosen_gradients() {
  const auto* const chosen = torch::autograd::get_current_graph_task_exec_info();
  return chosen != nullptr && !chosen->empty();
}

/// Tells whether someone besides a sink looks at the gradients that come to `accumulator`.
bool is_watched(Node& accumulator) {
  return !accumulator.tensor_pre_hooks().empty() ||
         accumulator.tensor_post_acc_grad_hooks() != nullptr ||
         accumulator.post_hooks().size() != 1 || accumulator.pre_hooks().size() > 1;
}

GradientSink* sink_of(Node& accumulator) {
  if (is_watched(accumulator)) return nullptr;
  return dynamic_cast<GradientSink*>(accumulator.post_hooks().front().get());
}

/// Returns the sink of the running node's tensor argument number `input`, or null.
GradientSink* sink_in_backward(std::size_t input) {
  const auto node = torch::autograd::get_current_node();
  if (!node || at::GradMode::is_enabled() || gathers_chosen_gradients()) return nullptr;
  if (input >= node->num_outputs() || !node->next_edge(input).is_valid()) return nullptr;
  return sink_of(*node->next_edge(input).function);
}

}  // namespace

void EarlyGradient::move_out() {
  if (!std::exchange(in_place_, false)) return;
  const at::NoGradGuard no_grad;
  values_ = values_.clone();
}

GradientTarget open_gradient(std::size_t input, at::ScalarType type) {
  GradientSink* const sink = sink_in_backward(input);
  return sink != nullptr ? sink->open(type) : GradientTarget{};
}

EarlyGradientPtr lend_gradient(const at::Tensor& parameter, at::ScalarType type) {
  const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(parameter);
  GradientSink* const sink = accumulator ? sink_of(*accumulator) : nullptr;
  return sink != nullptr ? sink->lend(type) : EarlyGradientPtr{};
}

at::Tensor settle_gradient(std::size_t input, EarlyGradient& gradient) {
  GradientSink* const sink = sink_in_backward(input);
  if (sink == nullptr || !sink->settle(gradient)) return {};
  return gradient.take();
}

}  // namespace sheaf::module
