#include "unit.h"

namespace sheaf::sharding {

Unit::Unit(const Context& context, const UnitPlan& plan, const Inventory& inventory)
    : name_(plan.name), module_(plan.module), reshards_(plan.reshard_after_forward) {
  const auto groups = split_by_type(plan.parameters, inventory);
  segments_.reserve(groups.size());  // gradients refer to segments, so these must not move
  gradients_.reserve(groups.size());
  for (const auto& group : groups) {
    segments_.emplace_back(context, name_, group, inventory);
    gradients_.emplace_back();
    if (segments_.back().type().trainable) gradients_.back().emplace(context, segments_.back());
  }
  if (context.cuts_parameters()) presence_ = Presence::freed;
}

void Unit::start_gather(const Context& context) {
  context.emit(EventKind::gather_started, name_);
  for (Segment& segment : segments_) arriving_.push_back(segment.start_gather(context));
  presence_ = Presence::arriving;
}

void Unit::finish_gather(const Context& context) {
  for (Pending& pending : arriving_) pending.wait();
  arriving_.clear();
  presence_ = Presence::present;
  context.emit(EventKind::gathered, name_);
}

void Unit::free(const Context& context) {
  if (presence_ == Presence::arriving) finish_gather(context);
  for (Segment& segment : segments_) segment.free();
  presence_ = Presence::freed;
  context.emit(EventKind::freed, name_);
}

void Unit::give_zeros() {
  arriving_.clear();
  for (Segment& segment : segments_) segment.give_zeros();
  presence_ = Presence::present;
}

}  // namespace sheaf::sharding
