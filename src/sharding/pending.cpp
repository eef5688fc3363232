#include "pending.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <string>
#include <utility>

#include "comm/captured.h"
#include "comm/device_stamp.h"
#include "sheaf/base/log.h"

namespace sheaf::sharding {

Pending::Pending(comm::Work work, std::shared_ptr<c10::Event> done, Recorder recorder)
    : work_(std::move(work)), done_(std::move(done)), recorder_(std::move(recorder)) {}

Pending::~Pending() {
  if (!done_ || waited_) return;
  try {
    block_stream();
  } catch (const std::exception& error) {
    log::debug("sharding", std::string("an exchange that nobody waited for: ") + error.what());
  }
}

Pending& Pending::operator=(Pending&& other) noexcept {
  std::swap(work_, other.work_);
  std::swap(done_, other.done_);
  std::swap(recorder_, other.recorder_);
  std::swap(waited_, other.waited_);
  return *this;
}

void Pending::wait() {
  waited_ = true;
  work_.wait();
  if (done_) block_stream();
}

void Pending::block_stream() {
  const c10::Stream stream =
      comm::current_stream(at::Device(done_->device_type(), done_->device_index()));
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
  stream_ = c10::impl::VirtualGuardImpl(device.type())
                .getStreamFromGlobalPool(device, /*isHighPriority=*/true);
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
  return {std::move(work), std::move(done), recorder_};
}

}  // namespace sheaf::sharding
