#include "engine_slots.h"

#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "quiet.h"
#include "sheaf/base/error.h"
#include "sheaf/memory/holders.h"

namespace sheaf::sharding {

EngineSlots::EngineSlots(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {
  const Quiet quiet;
  const Context& context = engine_->context();
  for (std::size_t u = 0; u < engine_->units().size(); ++u) {
    const auto& segments = engine_->units()[u].segments();
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      if (!segment.type().trainable) continue;
      optim::Segment seen{.master = segment.master(), .copy = {}, .slots = {}};
      if (!context.cuts_parameters() && !segment.master_in_flat()) seen.copy = segment.own_part();
      const layout::Range own = segment.layout().shard(context.shard_index());
      std::int64_t end = 0;
      for (std::size_t m = 0; m < segment.parameters().size(); ++m) {
        const ParameterInfo& info = engine_->inventory().parameters[segment.parameters()[m]];
        const layout::Range part = segment.local_part(m);
        const std::int64_t offset = part.size == 0 ? end : part.begin - own.begin;
        seen.slots.push_back({.name = info.name,
                              .shape = info.tensor.sizes().vec(),
                              .offset = offset,
                              .size = part.size});
        end = offset + part.size;
      }
      segments_.push_back(std::move(seen));
      places_.push_back({u, s});
    }
  }
}

at::Tensor EngineSlots::new_state(std::size_t segment, std::string_view, at::ScalarType type) {
  const std::string& owner = engine_->units()[places_[segment].unit].name();
  const memory::HeldFor states(memory::Purpose::optimizer, owner);
  const at::Tensor state = at::zeros_like(segments_[segment].master, type);
  memory::Ledger ledger = engine_->context().options.ledger;
  charges_.push_back(ledger.charge(
      memory::Purpose::optimizer, owner, {static_cast<std::int64_t>(state.nbytes())}));
  return state;
}

void EngineSlots::begin_step() {
  engine_->check_failure();
  bool exchanged = false;
  for (const Place& place : places_) {
    const GradientBuffer& gradient = buffer_of(place);
    if (gradient.has_any()) {
      throw Error(fmt::format(
          "the optimizer was asked to step, but gradients of \"{}\" from the last pass have not "
          "been "
          "exchanged: run the last backward pass of a step outside of no_sync(), or drop them with "
          "zero_gradients()",
          engine_->units()[place.unit].name()));
    }
    exchanged = exchanged || gradient.is_used_up() || gradient.result().defined();
  }
  if (exchanged) return;
  throw Error(
      "the optimizer was asked to step, but no gradient has been exchanged since the last step: "
      "run a backward pass first, the last one outside of no_sync()");
}

at::Tensor EngineSlots::gradient(std::size_t segment) {
  return buffer_of(places_[segment]).result();
}

GradientBuffer& EngineSlots::buffer_of(const Place& place) {
  return *engine_->units()[place.unit].gradients()[place.segment];
}

bool EngineSlots::takes_part(std::size_t segment, std::size_t slot) const {
  const Place& place = places_[segment];
  const Segment& owner = engine_->units()[place.unit].segments()[place.segment];
  return engine_->reducer().used(owner.parameters()[slot]);
}

/// The new values travel while the next segment is stepped.
void EngineSlots::stepped(std::size_t segment) {
  const Context& context = engine_->context();
  if (context.cuts_parameters() || !context.cuts_state()) return;
  const Quiet quiet;
  const Place& place = places_[segment];
  Segment& owner = engine_->units()[place.unit].segments()[place.segment];
  engine_->updates().add(owner.start_refresh(context, /*copied=*/true));
}

bool EngineSlots::step_as_ready(StepSegment step) {
  if (engine_->context().options.find_unused) return false;
  if (!step) {
    engine_->reducer().set_on_reduced(nullptr);
    return true;
  }
  engine_->reducer().set_on_reduced(
      [this, step = std::move(step)](std::size_t unit, const std::function<void()>& finish) {
        engine_->updates().run_beside([&] {
          finish();
          step_unit(unit, step);
        });
      });
  return true;
}

void EngineSlots::step_unit(std::size_t unit, const StepSegment& step) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].unit != unit) continue;
    step(i);
    buffer_of(places_[i]).use_up();
  }
}

void EngineSlots::end_step() {
  engine_->updates().finish();
  engine_->mark_fresh();
  engine_->after_step();
}

}  // namespace sheaf::sharding
