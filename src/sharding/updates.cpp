#include "updates.h"

#include <c10/core/StreamGuard.h>

#include <utility>

#include "comm/captured.h"
#include "comm/device_stamp.h"
#include "comm/priority_stream.h"

namespace sheaf::sharding {

void Updates::run_beside(const std::function<void()>& step) {
  if (device_.is_cpu()) return step();
  if (!stream_) stream_ = comm::priority_stream(device_, comm::StreamPriority::last);
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
  is_recorded_ = comm::is_captured(*stream_);
}

void Updates::join() {
  const auto stepped = std::exchange(stepped_, nullptr);
  if (!stepped) return;
  const c10::Stream stream = comm::current_stream(device_);
  // What a recording left behind that failed never runs, and CUDA refuses to wait for it.
  if (is_recorded_ && !comm::is_captured(stream)) return;
  stepped->block(stream);
}

void Updates::finish() {
  join();
  for (Pending& pending : std::exchange(refreshing_, {})) pending.wait();
}

}  // namespace sheaf::sharding
