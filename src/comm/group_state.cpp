#include "group_state.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <chrono>

#include "device_stamp.h"
#include "sheaf/base/error.h"

namespace sheaf::comm {
namespace {

/// Runs `body`; what LibTorch throws becomes a CommError that says which call failed.
void run_named(Kind kind, Backend& backend, const std::function<void(Backend&)>& body) {
  try {
    body(backend);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw CommError(fmt::format(
        "{} over {} failed: {}", name(kind), backend.name(), error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw CommError(fmt::format("{} over {} failed: {}", name(kind), backend.name(), error.what()));
  }
}

}  // namespace

void TrafficCounter::add(Kind kind, Purpose purpose, const Tally& tally) {
  {
    const std::lock_guard lock(mutex_);
    traffic_.at(kind, purpose) += tally;
  }
  if (parent_) parent_->add(kind, purpose, tally);
}

Traffic TrafficCounter::read() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

GroupState::GroupState(Members members, std::unique_ptr<Backend> backend, Observers observers)
    : members_(std::move(members)),
      observers_(std::move(observers)),
      backend_(std::move(backend)),
      label_(observers_.recorder.label(observers_.name)) {}

GroupState::~GroupState() {
  bool busy = collectives_.busy();
  for (auto& [key, lane] : message_lanes_) busy = busy || lane.busy();
  // Nobody will wait for these calls any more; the peers must not wait for us either.
  if (busy) backend_->leave();
}

Work GroupState::submit(const Request& request, std::function<void(Backend&)> body) {
  observers_.traffic->add(request.kind, request.purpose, {.calls = 1, .bytes = request.bytes});
  if (backend_->stream_ordered()) {
    run_in_stream(request, body);
    return {};
  }
  auto call = std::make_shared<Call>();
  call->kind = request.kind;
  call->purpose = request.purpose;
  call->group = shared_from_this();
  call->lane = &lane_for(request);
  const Span span = span_of(request);
  call->unit = span.unit;
  // The task may not hold the state that holds its lane, but the state waits for its lanes.
  call->task = call->lane->submit([this, kind = request.kind, span, body = std::move(body)] {
    const ScopedSpan running(observers_.recorder, span);
    run_named(kind, *backend_, body);
  });
  return Work(std::move(call));
}

/// Says what is known of a call before it runs.
Span GroupState::span_of(const Request& request) {
  const std::int64_t call = request.peer < 0 ? calls_++ : 0;
  Recorder& recorder = observers_.recorder;
  return {.kind = SpanKind::collective,
          .unit = recorder.listening() ? recorder.label(request.unit) : 0,
          .what = name(request.kind),
          .purpose = name(request.purpose),
          .bytes = request.bytes.count,
          .group = label_,
          .call = call};
}

void GroupState::run_in_stream(const Request& request, const std::function<void(Backend&)>& body) {
  Span span = span_of(request);
  if (!observers_.recorder.listening()) {
    run_named(request.kind, *backend_, body);
    return;
  }
  const c10::Stream stream = current_stream(backend_->device());
  span.stream = stream.id();
  std::shared_ptr<const Stamp> begin = stamp_now(stream);
  run_named(request.kind, *backend_, body);
  observers_.recorder.add(span, std::move(begin), stamp_now(stream));
}

std::string GroupState::next_split_name(int color) {
  return fmt::format("split{}.{}", num_splits_++, color);
}

Lane& GroupState::lane_for(const Request& request) {
  if (request.peer < 0) return collectives_;
  const std::lock_guard lock(message_lanes_mutex_);
  return message_lanes_[{request.kind, request.peer}];
}

void Work::wait() {
  if (!call_) return;
  const Observers& observers = call_->group->observers();
  const ScopedSpan waiting(observers.recorder, {.kind = SpanKind::wait, .unit = call_->unit});
  const auto start = std::chrono::steady_clock::now();
  const auto count = [&] {
    const Seconds waited = std::chrono::steady_clock::now() - start;
    observers.traffic->add(call_->kind, call_->purpose, {.waiting = waited});
  };
  try {
    call_->lane->wait(*call_->task);
  } catch (...) {
    count();
    throw;
  }
  count();
}

bool Work::done() const { return !call_ || call_->lane->done(*call_->task); }

}  // namespace sheaf::comm
