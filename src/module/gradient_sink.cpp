#include "sheaf/module/gradient_sink.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/graph_task.h>

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

}  // namespace

GradientTarget open_gradient(std::size_t input, at::ScalarType type) {
  const auto node = torch::autograd::get_current_node();
  if (!node || at::GradMode::is_enabled() || gathers_chosen_gradients()) return {};
  if (input >= node->num_outputs() || !node->next_edge(input).is_valid()) return {};
  Node& accumulator = *node->next_edge(input).function;
  if (is_watched(accumulator)) return {};
  auto* const sink = dynamic_cast<GradientSink*>(accumulator.post_hooks().front().get());
  return sink != nullptr ? sink->open(type) : GradientTarget{};
}

}  // namespace sheaf::module
