#include "sheaf/train/phase_clock.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/device_stamp.h"

namespace sheaf::train {
namespace {

SpanKind kind_of(Phase phase) {
  switch (phase) {
    case Phase::data_wait:
      return SpanKind::data;
    case Phase::forward:
      return SpanKind::forward;
    case Phase::backward:
      return SpanKind::backward;
    case Phase::optimizer:
      break;
  }
  return SpanKind::optimizer;
}

/// A phase that the device has not told the times of yet.
struct DeviceMark {
  Span span;
  std::shared_ptr<const Stamp> begin;
  std::shared_ptr<const Stamp> end;
};

}  // namespace

struct PhaseClock::Impl {
  at::Device device;
  Recorder recorder;
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::int64_t last = 0;
  /// CUDA only: when the host has made the last mark.
  std::int64_t marked = 0;
  std::vector<Span> spans;
  /// CUDA only: where the step begins on the device, how the device's times are read, and the end
  /// of the step as both clocks know it.
  std::shared_ptr<const Stamp> first;
  std::optional<Origin> origin;
  std::optional<Origin> end;
  std::vector<DeviceMark> marks;
  /// What was heard before another step was given to the device; unset where none was.
  std::optional<std::vector<DeviceSpan>> heard;

  void begin() {
    spans.clear();
    marks.clear();
    heard.reset();
    origin.reset();
    end.reset();
    first = device.is_cpu() ? nullptr : comm::stamp_now(comm::current_stream(device));
    began = Recorder::now();
    last = began;
  }

  void mark_on_device(Span span, std::shared_ptr<const Stamp> end_of_phase) {
    span.stream = comm::current_stream(device).id();
    auto begin_of_phase = marks.empty() ? first : marks.back().end;
    marks.push_back({span, std::move(begin_of_phase), std::move(end_of_phase)});
    marked = Recorder::now();
  }

  /// Returns when the step was over: for the host, or for the device where it has had the next one
  /// since.
  std::int64_t wait_for_device() {
    if (marks.empty()) return Recorder::now();
    const std::shared_ptr<const Stamp>& stamp = marks.back().end;
    const bool is_late = stamp->reached();
    comm::wait_for(*stamp);
    const std::int64_t now = Recorder::now();
    // Who had to wait knows the moment. Who came late knows how long the step took, by a clock that
    // goes a little faster or slower than the host's, and that it ended between its last mark and
    // now.
    end = Origin{.stamp = stamp, .time = is_late ? std::clamp(on_host(*stamp), marked, now) : now};
    return heard ? end->time : now;
  }

  [[nodiscard]] std::int64_t on_host(const Stamp& stamp) const {
    return origin->time + stamp.since(*origin->stamp);
  }

  void read_marks() {
    for (DeviceMark& mark : marks) {
      mark.span.begin = on_host(*mark.begin);
      mark.span.end = on_host(*mark.end);
      spans.push_back(mark.span);
    }
  }

  void read_heard() {
    for (DeviceSpan& each : *heard) {
      if (!each.end->reached()) {
        recorder.add(each.span, std::move(each.begin), std::move(each.end));
        continue;
      }
      each.span.begin = on_host(*each.begin);
      each.span.end = on_host(*each.end);
      spans.push_back(each.span);
    }
  }
};

PhaseClock::PhaseClock(at::Device device, const comm::Group& group)
    : impl_(std::make_unique<Impl>(Impl{.device = device,
                                        .recorder = group.recorder(),
                                        .spans = {},
                                        .first = {},
                                        .origin = {},
                                        .end = {},
                                        .marks = {},
                                        .heard = {}})) {}

PhaseClock::~PhaseClock() = default;

void PhaseClock::start() {
  // A device's times can be read by the last step's origin, and this step should not pay for it.
  static_cast<void>(impl_->recorder.take(impl_->origin));
  impl_->begin();
  if (impl_->first) impl_->origin = Origin{.stamp = impl_->first, .time = impl_->began};
}

void PhaseClock::start_behind(PhaseClock& other) {
  TORCH_INTERNAL_ASSERT(!impl_->device.is_cpu() && !other.impl_->heard);
  for (const Span& span : impl_->recorder.take()) other.impl_->spans.push_back(span);
  other.impl_->heard = impl_->recorder.take_unread();
  impl_->begin();
}

void PhaseClock::follow(const PhaseClock& other) {
  TORCH_INTERNAL_ASSERT(other.impl_->end.has_value());
  impl_->origin = other.impl_->end;
  impl_->began = std::max(impl_->began, other.impl_->ended);
}

void PhaseClock::mark(Phase phase) {
  Span span{.kind = kind_of(phase)};
  if (!impl_->device.is_cpu()) {
    impl_->mark_on_device(span, comm::stamp_now(comm::current_stream(impl_->device)));
    return;
  }
  span.begin = std::exchange(impl_->last, Recorder::now());
  span.end = impl_->last;
  impl_->spans.push_back(span);
}

void PhaseClock::mark(Phase phase, std::shared_ptr<const Stamp> end) {
  impl_->mark_on_device({.kind = kind_of(phase)}, std::move(end));
}

StepSpans PhaseClock::finish() {
  impl_->ended = impl_->wait_for_device();
  impl_->read_marks();
  std::vector<Span> heard;
  if (impl_->heard) {
    impl_->read_heard();
  } else {
    heard = impl_->recorder.take(impl_->origin);
  }
  impl_->spans.insert(impl_->spans.end(), heard.begin(), heard.end());
  std::erase_if(impl_->spans, [&](const Span& span) { return span.end <= impl_->began; });
  return {{impl_->began, impl_->ended}, std::move(impl_->spans)};
}

}  // namespace sheaf::train
