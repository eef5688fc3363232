#include "sheaf/train/phase_clock.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <utility>
#include <vector>

namespace sheaf::train {
namespace {

using Clock = std::chrono::steady_clock;

Seconds& part_of(PhaseTimes& times, Phase phase) {
  switch (phase) {
    case Phase::data_wait:
      return times.data_wait;
    case Phase::forward:
      return times.forward;
    case Phase::backward:
      return times.backward;
    case Phase::optimizer:
      break;
  }
  return times.optimizer;
}

struct Mark {
  Phase phase;
  c10::Event event;
};

}  // namespace

struct PhaseClock::Impl {
  at::Device device;
  comm::Group group;
  Clock::time_point last;
  Seconds waited{0};
  PhaseTimes times;
  /// CUDA only: the first one begins the step.
  std::vector<Mark> marks;

  void record(Phase phase) {
    c10::Event event(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    marks.push_back({phase, std::move(event)});
  }
};

PhaseClock::PhaseClock(at::Device device, comm::Group group)
    : impl_(new Impl{
          .device = device, .group = std::move(group), .last = {}, .times = {}, .marks = {}}) {}

PhaseClock::~PhaseClock() = default;

void PhaseClock::start() {
  impl_->times = {};
  impl_->marks.clear();
  impl_->last = Clock::now();
  impl_->waited = impl_->group.traffic().total().waiting;
  if (!impl_->device.is_cpu()) impl_->record(Phase::data_wait);
}

void PhaseClock::mark(Phase phase) {
  if (!impl_->device.is_cpu()) {
    impl_->record(phase);
    return;
  }
  const Clock::time_point now = Clock::now();
  const Seconds waited = impl_->group.traffic().total().waiting;
  const Seconds exposed = waited - impl_->waited;
  part_of(impl_->times, phase) += now - impl_->last - exposed;
  impl_->times.exposed_communication += exposed;
  impl_->last = now;
  impl_->waited = waited;
}

PhaseTimes PhaseClock::finish() {
  for (std::size_t i = 1; i < impl_->marks.size(); ++i) {
    const Mark& mark = impl_->marks[i];
    mark.event.synchronize();
    const double ms = impl_->marks[i - 1].event.elapsedTime(mark.event);
    part_of(impl_->times, mark.phase) += std::chrono::duration<double, std::milli>(ms);
  }
  return impl_->times;
}

}  // namespace sheaf::train
