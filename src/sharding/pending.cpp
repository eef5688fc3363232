#include "pending.h"

#include <c10/core/StreamGuard.h>

#include <string>
#include <utility>

#include "comm/captured.h"
#include "comm/device_stamp.h"
#include "comm/priority_stream.h"
#include "sheaf/base/log.h"

namespace sheaf::sharding {

Pending::Pending(comm::Work work,
                 std::shared_ptr<c10::Event> done,
                 Recorder recorder,
                 bool recorded)
    : work_(std::move(work)),
      done_(std::move(done)),
      recorder_(std::move(recorder)),
      is_recorded_(recorded) {}

Pending::~Pending() {
  if (!done_ || waited_) return;
  try {
    if (!never_ran()) block_stream();
  } catch (const std::exception& error) {
    log::debug("sharding", std::string("an exchange that nobody waited for: ") + error.what());
  }
}

Pending& Pending::operator=(Pending&& other) noexcept {
  std::swap(work_, other.work_);
  std::swap(done_, other.done_);
  std::swap(recorder_, other.recorder_);
  std::swap(is_recorded_, other.is_recorded_);
  std::swap(waited_, other.waited_);
  return *this;
}

c10::Stream Pending::current_stream() const {
  return comm::current_stream(at::Device(done_->device_type(), done_->device_index()));
}

/// Tells so of what a recording left behind that failed: there is nothing to wait for, and CUDA
/// refuses to.
bool Pending::never_ran() const {
  return is_recorded_ && done_ && !comm::is_captured(current_stream());
}

void Pending::wait() {
  waited_ = true;
  if (never_ran()) return;
  work_.wait();
  if (done_) block_stream();
}

void Pending::block_stream() {
  const c10::Stream stream = current_stream();
  // What is over already holds nobody up; what is captured is never over.
  if (!recorder_->listening() || (!comm::is_captured(stream) && done_->query())) {
    done_->block(stream);
    return;
  }
  std::shared_ptr<const Stamp> begin = comm::stamp_now(stream);
  done_->block(stream);
  recorder_->add(
      {.kind = SpanKind::wait, .stream = stream.id()}, std::move(begin), comm::stamp_now(stream));
}

bool Pending::done() const { return work_.done() && (!done_ || done_->query()); }

ExchangeStream::ExchangeStream(at::Device device, Recorder recorder)
    : recorder_(std::move(recorder)) {
  if (device.is_cpu()) return;
  stream_ = comm::priority_stream(device, comm::StreamPriority::first);
}

Pending ExchangeStream::issue(const std::function<comm::Work()>& start) const {
  if (!stream_) return Pending(start());
  c10::Event computed(stream_->device_type());
  computed.record(comm::current_stream(stream_->device()));
  computed.block(*stream_);
  const c10::StreamGuard guard(*stream_);
  comm::Work work = start();
  auto done = std::make_shared<c10::Event>(stream_->device_type());
  done->record(*stream_);
  return {std::move(work), std::move(done), recorder_, comm::is_captured(*stream_)};
}

}  // namespace sheaf::sharding
