#include "pending.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <string>
#include <utility>

#include "sheaf/base/log.h"

namespace sheaf::sharding {
namespace {

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

Pending::Pending(comm::Work work, std::shared_ptr<c10::Event> done)
    : work_(std::move(work)), done_(std::move(done)) {}

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
  std::swap(waited_, other.waited_);
  return *this;
}

void Pending::wait() {
  waited_ = true;
  work_.wait();
  if (done_) block_stream();
}

void Pending::block_stream() const {
  done_->block(current_stream(at::Device(done_->device_type(), done_->device_index())));
}

bool Pending::done() const { return work_.done() && (!done_ || done_->query()); }

ExchangeStream::ExchangeStream(at::Device device) {
  if (device.is_cpu()) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type())
                .getStreamFromGlobalPool(device, /*isHighPriority=*/true);
}

Pending ExchangeStream::issue(const std::function<comm::Work()>& start) const {
  if (!stream_) return {start(), nullptr};
  c10::Event computed(stream_->device_type());
  computed.record(current_stream(stream_->device()));
  computed.block(*stream_);
  const c10::StreamGuard guard(*stream_);
  comm::Work work = start();
  auto done = std::make_shared<c10::Event>(stream_->device_type());
  done->record(*stream_);
  return {std::move(work), std::move(done)};
}

}  // namespace sheaf::sharding
