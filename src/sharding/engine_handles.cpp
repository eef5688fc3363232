// What optimizers of torch::optim see of the engine: handles, their gradients, and that somebody
// has stepped them.
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <functional>

#include "engine.h"
#include "quiet.h"

namespace sheaf::sharding {
namespace {

/// Returns the same memory under a storage of its own.
at::Tensor apart(const at::Tensor& tensor) {
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), [tensor](void*) {}, tensor.options());
}

}  // namespace

/// Note [Handles]: a torch::optim optimizer steps the handles. They are the model's own parameters
/// where these are whole and what the optimizer should step, else views of the masters, apart from
/// the model's memory: whoever steps them does not use the model.
void Engine::make_handles() {
  const Quiet quiet;
  for (Unit& unit : units_) {
    for (Segment& segment : unit.segments()) {
      if (!segment.type().trainable) continue;
      const bool own = context_.stage() == Stage::ddp && segment.master_in_flat();
      const at::Tensor master = own ? segment.master() : apart(segment.master());
      for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
        const std::size_t p = segment.parameters()[m];
        handles_[p] = own ? inventory_.parameters[p].tensor
                          : segment.part_of(master, m).detach().requires_grad_();
      }
    }
  }
}

const std::vector<at::Tensor>& Engine::give_handles() {
  handles_given_ = true;
  for (Unit& unit : units_) {
    for (auto& gradient : unit.gradients()) {
      if (gradient) gradient->widen_results();
    }
  }
  return handles_;
}

/// sheaf's own optimizers say when they have stepped. Others do not: whoever holds the handles may
/// step them before the parameters are used next.
void Engine::expect_foreign_step() {
  if (!handles_given_) return;
  const auto follows = [&](const Unit& unit) {
    return context_.cuts_state() || !std::all_of(unit.segments().begin(),
                                                 unit.segments().end(),
                                                 std::mem_fn(&Segment::master_in_flat));
  };
  unsure_ = std::any_of(units_.begin(), units_.end(), follows);
  if (!unsure_) return;
  watch_handles();
  if (context_.cuts_parameters()) return;
  stale_ = true;
  watch();
}

/// Note [Foreign steps]: where a model is called plainly, no boundary tells that a step is over. So
/// the first use of a parameter after a backward pass has whole parameters follow the masters, and
/// any later one if somebody has used the handles in between: that first use may have been a look
/// at a norm before the step. Every rank's optimizer uses handles, so ranks agree.
void Engine::watch_handles() {
  const std::weak_ptr<Engine> self = weak_from_this();
  handle_watches_.clear();
  handles_used_ = false;
  for (const Unit& unit : units_) {
    for (const Segment& segment : unit.segments()) {
      const std::size_t first = segment.parameters().front();
      const bool is_own = handles_[first].is_same(inventory_.parameters[first].tensor);
      if (!segment.type().trainable || is_own) continue;
      handle_watches_.emplace_back(handles_[first], [self] {
        if (const auto alive = self.lock()) alive->handles_used_ = true;
      });
    }
  }
}

void Engine::follow_foreign_step() {
  const bool stepped = unsure_ && handles_used_.exchange(false);
  if (context_.cuts_parameters()) {
    if (stepped) gatherer_.free_all();
    return;
  }
  stale_ = stale_ || stepped;
  refresh();
}

void Engine::stop_expecting() {
  unsure_ = false;
  handle_watches_.clear();
  if (!context_.cuts_parameters()) watches_.clear();
}

/// An optimizer's zero_grad() takes gradients away from the handles; what is added next must not
/// meet the old values.
void Engine::notice_cleared_gradients() {
  for (Unit& unit : units_) {
    for (std::size_t s = 0; s < unit.segments().size(); ++s) {
      const Segment& segment = unit.segments()[s];
      auto& gradient = unit.gradients()[s];
      if (!gradient || !gradient->result().defined()) continue;
      bool any_left = false;
      for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
        const std::size_t p = segment.parameters()[m];
        if (!shown_[p] || handles_[p].grad().defined()) {
          any_left = any_left || shown_[p];
          continue;
        }
        segment.part_of(gradient->result(), m).zero_();
        shown_[p] = false;
        reducer_.forget_used(p);
      }
      if (!any_left) gradient->forget_result();
    }
  }
}

void Engine::show_gradients() {
  for (Unit& unit : units_) {
    for (std::size_t s = 0; s < unit.segments().size(); ++s) {
      const Segment& segment = unit.segments()[s];
      if (!unit.gradients()[s] || !unit.gradients()[s]->result().defined()) continue;
      for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
        const std::size_t p = segment.parameters()[m];
        const at::Tensor part = segment.part_of(unit.gradients()[s]->result(), m);
        if (part.numel() == 0 || !reducer_.used(p)) continue;
        // Detached, because optimizers detach gradients in place, which views do not allow.
        handles_[p].mutable_grad() = part.view(handles_[p].sizes()).detach();
        shown_[p] = true;
      }
    }
  }
}

void Engine::refresh() {
  if (!stale_) return;
  const Quiet quiet;
  std::vector<Pending> pending;
  for (Unit& unit : units_) {
    for (Segment& segment : unit.segments()) {
      pending.push_back(segment.start_refresh(context_, /*copied=*/false));
    }
  }
  for (Pending& each : pending) each.wait();
  stale_ = false;
  handles_used_ = false;
}

void Engine::mark_fresh() {
  stale_ = false;
  stop_expecting();
}

}  // namespace sheaf::sharding
