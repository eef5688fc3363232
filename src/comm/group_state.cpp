#include "group_state.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "device_stamp.h"
#include "sheaf/base/error.h"
#include "watch/full_check.h"

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

CallRecord record_of(const GroupState::Request& request) {
  CallRecord call;
  call.kind = static_cast<std::uint8_t>(request.kind);
  call.dtype = static_cast<std::int8_t>(request.dtype);
  call.peer = request.peer >= 0 ? request.peer : request.root;
  call.bytes = request.bytes.count;
  call.unit = short_name(request.unit);
  return call;
}

/// Notes when a call begins and how it ends.
class Noted {
 public:
  Noted(GroupLog& log, const CallRecord& call) : log_(log), number_(log.begin(call)) {}
  ~Noted() { log_.end(number_, state_); }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  void succeeded() { state_ = CallState::done; }

 private:
  GroupLog& log_;
  std::uint64_t number_;
  CallState state_ = CallState::failed;
};

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
      label_(observers_.recorder.label(observers_.name)) {
  const Lookout& lookout = observers_.lookout;
  if (!lookout.board) return;
  log_ = std::make_unique<GroupLog>(members_, observers_.name, lookout.board);
  if (lookout.watch) {
    lookout.watch->add({.log = log_.get(),
                        .stream_ordered = backend_->stream_ordered(),
                        .let_go = [this] { backend_->leave(); }});
  }
}

GroupState::~GroupState() {
  bool busy = collectives_.busy();
  for (auto& [key, lane] : message_lanes_) busy = busy || lane.busy();
  // Nobody will wait for these calls any more; the peers must not wait for us either.
  if (busy) backend_->leave();
  if (log_ && observers_.lookout.watch) observers_.lookout.watch->remove(*log_);
}

Work GroupState::submit(const Request& request, std::function<void(Backend&)> body) {
  if (is_dropped(request)) return {};
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
  call->task = call->lane->submit([this, note = record_of(request), span, body = std::move(body)] {
    const ScopedSpan running(observers_.recorder, span);
    run_noted(note, body);
  });
  return Work(std::move(call));
}

bool GroupState::is_dropped(const Request& request) const {
  if (!observers_.interference) return false;
  const Fate fate = observers_.interference(
      {.rank = members_.world_rank(), .kind = request.kind, .unit = request.unit});
  if (fate.delay > Seconds(0)) std::this_thread::sleep_for(fate.delay);
  return fate.dropped;
}

void GroupState::run_noted(const CallRecord& call, const std::function<void(Backend&)>& body) {
  if (!log_) return run_named(call.what(), *backend_, body);
  Noted noted(*log_, call);
  try {
    compare(call);
    run_named(call.what(), *backend_, body);
  } catch (const WatchError&) {
    throw;
  } catch (const Error&) {
    // Whoever found out has left the group; why it did says more.
    if (const auto verdict = log_->board().verdict()) give_up(verdict->sentence);
    throw;
  }
  noted.succeeded();
}

/// Holds a call that is about to begin against those of the other ranks.
void GroupState::compare(const CallRecord& call) {
  const Check check = observers_.lookout.check;
  Board& board = log_->board();
  if (board.is_condemned()) {
    if (const auto verdict = board.verdict()) give_up(verdict->sentence);
  }
  if (check == Check::off || members_.size() == 1 || call.is_message()) return;
  const auto found = check == Check::full ? disagreement_before(*backend_, members_, call)
                                          : log_->disagreement(GroupLog::Range::near);
  if (!found) return;
  board.condemn({.finder = members_.world_rank(), .sentence = *found});
  give_up(*found);
}

/// Ends this rank's part in the run: those who wait for it are let go, with the same sentence.
void GroupState::give_up(const std::string& sentence) {
  backend_->leave();
  if (observers_.lookout.watch) observers_.lookout.watch->await_end();
  throw WatchError(sentence);
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
  const CallRecord note = record_of(request);
  if (!observers_.recorder.listening()) {
    run_noted(note, body);
    return;
  }
  const c10::Stream stream = current_stream(backend_->device());
  span.stream = stream.id();
  std::shared_ptr<const Stamp> begin = stamp_now(stream);
  run_noted(note, body);
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
