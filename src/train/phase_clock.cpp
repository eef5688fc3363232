#include "sheaf/train/phase_clock.h"

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
  std::int64_t last = 0;
  std::vector<Span> spans;
  /// CUDA only.
  std::optional<Origin> origin;
  std::vector<DeviceMark> marks;

  void mark_on_device(Span span, std::shared_ptr<const Stamp> end) {
    span.stream = comm::current_stream(device).id();
    auto begin = marks.empty() ? origin->stamp : marks.back().end;
    marks.push_back({span, std::move(begin), std::move(end)});
  }

  void wait_for_device() const {
    if (!marks.empty()) comm::wait_for(*marks.back().end);
  }

  void read_marks() {
    for (DeviceMark& mark : marks) {
      mark.span.begin = origin->time + mark.begin->since(*origin->stamp);
      mark.span.end = origin->time + mark.end->since(*origin->stamp);
      spans.push_back(mark.span);
    }
  }
};

PhaseClock::PhaseClock(at::Device device, const comm::Group& group)
    : impl_(std::make_unique<Impl>(Impl{.device = device,
                                        .recorder = group.recorder(),
                                        .spans = {},
                                        .origin = {},
                                        .marks = {}})) {}

PhaseClock::~PhaseClock() = default;

void PhaseClock::start() {
  // What lies between two steps belongs to neither. A device's times can be read by the last step's
  // origin, and this step should not pay for it.
  static_cast<void>(impl_->recorder.take(impl_->origin));
  impl_->spans.clear();
  impl_->marks.clear();
  impl_->origin.reset();
  if (!impl_->device.is_cpu()) {
    impl_->origin = Origin{.stamp = comm::stamp_now(comm::current_stream(impl_->device)),
                           .time = Recorder::now()};
  }
  impl_->began = Recorder::now();
  impl_->last = impl_->began;
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
  impl_->wait_for_device();
  const std::int64_t end = Recorder::now();
  impl_->read_marks();
  for (const Span& span : impl_->recorder.take(impl_->origin)) {
    if (span.end > impl_->began) impl_->spans.push_back(span);
  }
  return {{impl_->began, end}, std::move(impl_->spans)};
}

}  // namespace sheaf::train
