#include "group_state.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <chrono>

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

GroupState::GroupState(Members members,
                       std::unique_ptr<Backend> backend,
                       std::shared_ptr<TrafficCounter> traffic)
    : members_(std::move(members)), traffic_(std::move(traffic)), backend_(std::move(backend)) {}

GroupState::~GroupState() {
  bool busy = collectives_.busy();
  for (auto& [key, lane] : message_lanes_) busy = busy || lane.busy();
  // Nobody will wait for these calls any more; the peers must not wait for us either.
  if (busy) backend_->leave();
}

Work GroupState::submit(const Request& request, std::function<void(Backend&)> body) {
  traffic_->add(request.kind, request.purpose, {.calls = 1, .bytes = request.bytes});
  if (backend_->stream_ordered()) {
    run_named(request.kind, *backend_, body);
    return {};
  }
  auto call = std::make_shared<Call>();
  call->kind = request.kind;
  call->purpose = request.purpose;
  call->group = shared_from_this();
  call->lane = &lane_for(request);
  call->task =
      call->lane->submit([kind = request.kind, backend = backend_.get(), body = std::move(body)] {
        run_named(kind, *backend, body);
      });
  return Work(std::move(call));
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
  const auto start = std::chrono::steady_clock::now();
  const auto count = [&] {
    const Seconds waited = std::chrono::steady_clock::now() - start;
    call_->group->traffic()->add(call_->kind, call_->purpose, {.waiting = waited});
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
