#include "unit_spans.h"

#include <utility>

#include "comm/device_stamp.h"

namespace sheaf::sharding {

UnitSpans::UnitSpans(const Context& context, const Inventory& inventory, const Units& units)
    : context_(context),
      inventory_(inventory),
      units_(units),
      recorder_(context.world.recorder()),
      forward_(units.size()),
      backward_(units.size()) {
  for (const Unit& unit : units) labels_.push_back(recorder_.label(unit.name()));
}

void UnitSpans::begin(std::size_t unit, Direction direction) {
  Open& open = this->open(direction)[unit];
  // A unit with several outputs is reached several times on the way back.
  if (!recorder_.listening() || open.time != 0) return;
  open.time = Recorder::now();
  for (std::size_t other = 0; direction == Direction::backward && other < units_.size(); ++other) {
    const bool runs = other != unit && backward_[other].time != 0;
    if (runs && !is_around(other, unit)) end_at(other, direction, open.time);
  }
  if (context_.device.is_cpu()) return;
  open.stamp = comm::stamp_now(comm::current_stream(context_.device));
}

bool UnitSpans::is_around(std::size_t outer, std::size_t inner) const {
  const auto around = units_[outer].module();
  const auto inside = units_[inner].module();
  return around && inside && lies_in(inventory_, *inside, *around);
}

void UnitSpans::end(std::size_t unit, Direction direction) {
  end_at(unit, direction, Recorder::now());
}

void UnitSpans::end_at(std::size_t unit, Direction direction, std::int64_t time) {
  Open& open = this->open(direction)[unit];
  if (open.time == 0) return;
  const bool forward = direction == Direction::forward;
  Span span{.kind = forward ? SpanKind::unit_forward : SpanKind::unit_backward,
            .begin = std::exchange(open.time, 0),
            .end = time,
            .unit = labels_[unit]};
  if (context_.device.is_cpu()) {
    recorder_.add(span);
    return;
  }
  const c10::Stream stream = comm::current_stream(context_.device);
  span.stream = stream.id();
  recorder_.add(span, std::move(open.stamp), comm::stamp_now(stream));
}

void UnitSpans::end_pass() {
  const std::int64_t now = Recorder::now();
  for (std::size_t unit = 0; unit < units_.size(); ++unit) end_at(unit, Direction::backward, now);
}

void UnitSpans::forget_pass() noexcept {
  for (Open& open : forward_) open = {};
  for (Open& open : backward_) open = {};
}

}  // namespace sheaf::sharding
