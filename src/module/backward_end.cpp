#include "sheaf/module/backward_end.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <memory>
#include <utility>

namespace sheaf::module {
namespace {

// Note [End of the outermost backward]
// LibTorch keeps the callbacks of a backward pass in the pass's GraphTask, calls them when the pass
// has no node left to run, and destroys them with the GraphTask, when the call of backward()
// returns. The first moment belongs to the pass that ends; at the second one the current pass is
// again the one around it, if any. So a body that finds itself in a node of another pass waits for
// the second moment and is queued anew, for the pass around.
class Waiting {
 public:
  explicit Waiting(std::function<void()> body) : body_(std::move(body)) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (nested_ && in_backward()) at_end_of_backward(std::move(body_));
  }

  void backward_ended() {
    nested_ = torch::autograd::get_current_node() != nullptr;
    if (!nested_) body_();
  }

 private:
  std::function<void()> body_;
  bool nested_ = false;
};

}  // namespace

bool in_backward() { return torch::autograd::get_current_graph_task_id() != -1; }

void at_end_of_backward(std::function<void()> body) {
  auto waiting = std::make_shared<Waiting>(std::move(body));
  torch::autograd::Engine::get_default_engine().queue_callback(
      [waiting = std::move(waiting)] { waiting->backward_ended(); });
}

}  // namespace sheaf::module
