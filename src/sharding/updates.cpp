#include "updates.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "comm/device_stamp.h"

namespace sheaf::sharding {

void Updates::run_beside(const std::function<void()>& step) {
  if (device_.is_cpu()) return step();
  if (!stream_) {
    stream_ = c10::impl::VirtualGuardImpl(device_.type()).getStreamFromGlobalPool(device_);
  }
  c10::Event computed(stream_->device_type());
  computed.record(comm::current_stream(device_));
  computed.block(*stream_);
  const c10::StreamGuard beside(*stream_);
  try {
    step();
  } catch (...) {
    note_steps();
    throw;
  }
  note_steps();
}

void Updates::note_steps() {
  stepped_ = std::make_unique<c10::Event>(stream_->device_type());
  stepped_->record(*stream_);
}

void Updates::join() {
  if (const auto stepped = std::exchange(stepped_, nullptr)) {
    stepped->block(comm::current_stream(device_));
  }
}

void Updates::finish() {
  join();
  for (Pending& pending : std::exchange(refreshing_, {})) pending.wait();
}

}  // namespace sheaf::sharding
