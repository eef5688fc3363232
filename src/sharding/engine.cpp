#include "engine.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>

#include "boundary.h"
#include "quiet.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/module/backward_end.h"

namespace sheaf::sharding {

/// Stands for the end of a backward pass. LibTorch calls it then; when the pass fails, it only
/// destroys it.
class PassEnd {
 public:
  explicit PassEnd(std::weak_ptr<Engine> engine) : engine_(std::move(engine)) {}
  PassEnd(const PassEnd&) = delete;
  PassEnd& operator=(const PassEnd&) = delete;
  ~PassEnd() {
    const auto alive = called_ ? nullptr : engine_.lock();
    if (alive) alive->abandon_pass();
  }

  void operator()() {
    called_ = true;
    if (const auto alive = engine_.lock()) alive->end_pass();
  }

 private:
  std::weak_ptr<Engine> engine_;
  bool called_ = false;
};

namespace {

// Passes in which touches are watched for although a model has boundaries.
constexpr int kWatchedPasses = 2;

Units build_units(const Context& context,
                  const std::vector<UnitPlan>& plans,
                  const Inventory& inventory) {
  Units units;
  for (const UnitPlan& plan : plans) units.emplace_back(context, plan, inventory);
  return units;
}

}  // namespace

Engine::Engine(Context context, Inventory inventory, const std::vector<UnitPlan>& plans)
    : context_(std::move(context)),
      inventory_(std::move(inventory)),
      units_(build_units(context_, plans, inventory_)),
      spans_(context_, inventory_, units_),
      gatherer_(context_, inventory_, units_),
      reducer_(context_, inventory_, units_),
      updates_(context_.device),
      buffers_(context_, inventory_.buffers),
      handles_(inventory_.parameters.size()),
      shown_(inventory_.parameters.size(), false),
      told_outside_(units_.size(), false) {
  make_handles();
}

Engine::~Engine() {
  watches_.clear();
  claims_.clear();
  taps_.clear();
  for (const ParameterInfo& info : inventory_.parameters) {
    // Without the engine nobody gathers them: a shape that fits nothing gives an error, where
    // missing memory would give a crash.
    at::Tensor parameter = info.tensor;
    if (context_.cuts_parameters()) {
      parameter.set_data(at::empty({0}, parameter.options().requires_grad(false)));
    }
  }
}

void Engine::attach() {
  attach_hooks();
  attach_boundaries();
  if (context_.cuts_parameters()) watch();
}

void Engine::attach_hooks() {
  const std::weak_ptr<Engine> self = weak_from_this();
  for (std::size_t p = 0; p < inventory_.parameters.size(); ++p) {
    const ParameterInfo& info = inventory_.parameters[p];
    if (!info.trainable) continue;
    taps_.push_back(std::make_unique<GradientTap>(
        info.tensor,
        GradientListener{.before =
                             [self, p] {
                               if (const auto alive = self.lock()) alive->before_gradient(p);
                             },
                         .after =
                             [self, p] {
                               if (const auto alive = self.lock()) alive->on_gradient(p);
                             },
                         .open =
                             [self, p](at::ScalarType type) {
                               const auto alive = self.lock();
                               return alive ? alive->open_gradient(p, type)
                                            : module::GradientTarget{};
                             },
                         .lend =
                             [self, p](at::ScalarType type) {
                               const auto alive = self.lock();
                               return alive ? alive->lend_gradient(p, type)
                                            : module::EarlyGradientPtr{};
                             },
                         .settle =
                             [self, p](const module::EarlyGradient& gradient) {
                               const auto alive = self.lock();
                               return alive && alive->settle_gradient(p, gradient);
                             }}));
  }
}

void Engine::attach_boundaries() {
  // The root's is there in any case: it casts the model's inputs.
  const bool by_touch = context_.options.wake == Wake::touch && context_.cuts_parameters();
  const auto claim = [&](std::size_t module, std::optional<std::size_t> unit) {
    claims_.push_back(
        module::claim(*inventory_.modules[module].module,
                      std::make_shared<Boundary>(weak_from_this(), unit, /*is_root=*/module == 0)));
  };
  bool root_claimed = false;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (!units_[u].module() || by_touch) continue;
    claim(*units_[u].module(), u);
    root_claimed = root_claimed || units_[u].is_root();
  }
  if (!root_claimed) claim(0, std::nullopt);
}

void Engine::watch() {
  const std::weak_ptr<Engine> self = weak_from_this();
  watches_.clear();
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const Segment& segment : units_[u].segments()) {
      watches_.emplace_back(segment.flat(), [self, u] {
        if (const auto alive = self.lock()) alive->touched(u);
      });
    }
  }
}

/// Evaluation may come between a backward pass and a foreign step, so only a forward pass with
/// gradients tells that the step is over.
void Engine::enter_model() {
  check_failure();
  // Of steps within a pass that failed, or that nobody ended.
  updates_.finish();
  if (unsure_ && context_.cuts_parameters()) gatherer_.free_all();
  stale_ = stale_ || (unsure_ && !context_.cuts_parameters());
  refresh();
  if (at::GradMode::is_enabled()) stop_expecting();
}

void Engine::enter_forward(std::size_t unit) {
  const Quiet quiet;
  check_failure();
  // Crossing the root's says nothing about the units inside.
  crossed_boundary_ = crossed_boundary_ || !units_[unit].is_root() || units_.size() == 1;
  gatherer_.need(
      unit, module::in_backward() ? Direction::backward : Direction::forward, Waker::boundary);
  context_.emit(EventKind::forward_began, units_[unit].name());
  if (!module::in_backward()) spans_.begin(unit, Direction::forward);
}

void Engine::leave_forward(std::size_t unit) {
  const bool with_gradients = at::GradMode::is_enabled();
  const Quiet quiet;
  context_.emit(EventKind::forward_ended, units_[unit].name());
  spans_.end(unit, Direction::forward);
  // Recomputed within backward, which needs the unit right away.
  if (module::in_backward()) return;
  gatherer_.leave(unit, Direction::forward, with_gradients);
}

void Engine::enter_backward(std::size_t unit) {
  const Quiet quiet;
  check_failure();
  begin_pass();
  gatherer_.need(unit, Direction::backward, Waker::boundary);
  context_.emit(EventKind::backward_began, units_[unit].name());
  spans_.begin(unit, Direction::backward);
}

void Engine::leave_backward(std::size_t unit) {
  const Quiet quiet;
  spans_.end(unit, Direction::backward);
  gatherer_.leave(unit, Direction::backward, /*with_gradients=*/false);
}

/// LibTorch swallows what is thrown here, and the operator will run in any case: so it gets memory,
/// and the error is thrown at the next occasion.
void Engine::touched(std::size_t unit) noexcept {
  const Quiet quiet;
  try {
    follow_foreign_step();
    if (!context_.cuts_parameters()) return;
    const bool by_boundary = crossed_boundary_ && !told_outside_[unit];
    if (by_boundary && units_[unit].presence() == Presence::present) {
      return gatherer_.take(unit, module::touching_operator());
    }
    const bool backward = module::in_backward();
    if (backward) begin_pass();
    if (units_[unit].presence() == Presence::freed) note_outside_use(unit);
    gatherer_.need(unit,
                   backward ? Direction::backward : Direction::forward,
                   Waker::touch,
                   module::touching_operator());
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    units_[unit].give_zeros();
  }
}

void Engine::note_outside_use(std::size_t unit) {
  if (context_.options.wake == Wake::touch || told_outside_[unit]) return;
  if (!crossed_boundary_ && context_.options.wake == Wake::automatic) return;
  told_outside_[unit] = true;
  if (context_.world.rank() != 0) return;
  log::warning("sharding",
               fmt::format("unit \"{}\" is used outside of sheaf::forward: gathered on touch "
                           "from now on, at about a microsecond per operator",
                           units_[unit].name()));
}

/// Watching costs a little for every operator, so it ends when boundaries have proved enough.
void Engine::settle_watching() {
  if (context_.options.wake == Wake::touch || !context_.cuts_parameters()) return;
  const bool used_outside =
      std::find(told_outside_.begin(), told_outside_.end(), true) != told_outside_.end();
  if (!crossed_boundary_ || used_outside || ++watched_passes_ < kWatchedPasses) return;
  watches_.clear();
}

void Engine::before_gradient(std::size_t parameter) {
  begin_pass();
  const at::Tensor& tensor = inventory_.parameters[parameter].tensor;
  // The shown gradient is the sum over all ranks; this pass must start its own.
  if (handles_[parameter].is_same(tensor)) tensor.mutable_grad().reset();
}

/// Layers write gradients on the stream of their forward pass, while LibTorch ends a parameter's
/// gradient on the stream on which the model was sharded.
void Engine::follow_writer() {
  if (context_.device.is_cpu()) return;
  const c10::Stream now =
      c10::impl::VirtualGuardImpl(context_.device.type()).getStream(context_.device);
  if (writer_ && *writer_ != now) {
    c10::Event written(now.device_type());
    written.record(*writer_);
    written.block(now);
  }
  writer_ = now;
}

module::GradientTarget Engine::open_gradient(std::size_t parameter, at::ScalarType type) {
  const Quiet quiet;
  check_failure();
  follow_writer();
  before_gradient(parameter);
  return reducer_.open(parameter, type);
}

module::EarlyGradientPtr Engine::lend_gradient(std::size_t parameter, at::ScalarType type) {
  // A layer that runs again within backward is in the middle of what the pass has gathered.
  if (in_pass_ || failure_) return {};
  const Quiet quiet;
  follow_writer();
  return reducer_.lend(parameter, type);
}

bool Engine::settle_gradient(std::size_t parameter, const module::EarlyGradient& gradient) {
  const Quiet quiet;
  check_failure();
  follow_writer();
  before_gradient(parameter);
  return reducer_.settle(parameter, gradient);
}

void Engine::on_gradient(std::size_t parameter) {
  const Quiet quiet;
  check_failure();
  follow_writer();
  begin_pass();
  at::Tensor& gradient = inventory_.parameters[parameter].tensor.mutable_grad();
  if (gradient.defined() && gradient.is_sparse()) {
    throw UsageError(
        fmt::format("the gradient of {} is sparse, which cannot be exchanged; build "
                    "its embedding without sparse(true)",
                    inventory_.parameters[parameter].name));
  }
  if (gradient.defined()) reducer_.add(parameter, gradient);
  gradient.reset();
  reducer_.complete(parameter);
}

void Engine::begin_pass() {
  if (in_pass_) return;
  const Quiet quiet;
  reducer_.begin_pass();
  in_pass_ = true;
  if (!stale_) stop_expecting();
  gatherer_.begin_backward();
  notice_cleared_gradients();
  module::at_end_of_backward([end = std::make_shared<PassEnd>(weak_from_this())] { (*end)(); });
}

void Engine::end_pass() try {
  const Quiet quiet;
  in_pass_ = false;
  spans_.end_pass();
  check_failure();
  follow_writer();
  reducer_.end_pass();
  if (context_.cuts_parameters()) gatherer_.end_pass();
  // Also after a pass that exchanges nothing, which has put away what was shown before.
  show_gradients();
  if (reducer_.exchanging()) {
    buffers_.end_pass();
    expect_foreign_step();
  }
  settle_watching();
  context_.emit(EventKind::pass_ended, "");
} catch (...) {
  abandon_pass();
  // On other devices backward runs on a thread of LibTorch's, where an exception ends the process.
  if (context_.device.is_cpu()) throw;
  if (!failure_) failure_ = std::current_exception();
}

/// What a failed pass has added to the sums cannot be taken out again, so all of them are lost.
void Engine::abandon_pass() noexcept {
  const Quiet quiet;
  in_pass_ = false;
  spans_.forget_pass();
  reducer_.abandon_pass();
  zero_gradients();
  if (!context_.cuts_parameters()) return;
  try {
    gatherer_.end_pass();
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

void Engine::check_failure() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Engine::zero_gradients() {
  // Steps on a GPU may still read them.
  updates_.join();
  for (Unit& unit : units_) {
    for (auto& gradient : unit.gradients()) {
      if (!gradient) continue;
      gradient->forget_result();
      gradient->forget_local();
    }
  }
  for (std::size_t p = 0; p < handles_.size(); ++p) {
    if (shown_[p]) handles_[p].mutable_grad().reset();
    shown_[p] = false;
    reducer_.forget_used(p);
  }
}

void Engine::after_step() {
  if (context_.cuts_parameters()) gatherer_.free_all();
  zero_gradients();
}

}  // namespace sheaf::sharding
