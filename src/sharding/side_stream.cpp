#include "side_stream.h"

#include <c10/core/StreamGuard.h>

#include <exception>
#include <string>
#include <utility>

#include "comm/captured.h"
#include "comm/device_stamp.h"
#include "comm/priority_stream.h"
#include "sheaf/base/log.h"

namespace sheaf::sharding {
namespace {

constexpr std::size_t kMostHeld = std::size_t{128} << 20;

std::size_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::size_t sum = 0;
  for (const at::Tensor& tensor : tensors) sum += tensor.nbytes();
  return sum;
}

}  // namespace

module::Beside* SideStream::if_recording() {
  if (!is_wanted_ || device_.is_cpu()) return nullptr;
  return comm::is_captured(comm::current_stream(device_)) ? this : nullptr;
}

void SideStream::run(const std::function<void()>& work, std::vector<at::Tensor> reads) {
  if (!stream_) stream_ = comm::priority_stream(device_, comm::StreamPriority::middle);
  c10::Event computed(device_.type());
  computed.record(comm::current_stream(device_));
  computed.block(*stream_);
  const std::size_t bytes = bytes_of(reads);
  held_.push_back({c10::Event(device_.type()), std::move(reads), bytes});
  held_bytes_ += bytes;
  {
    const c10::StreamGuard beside(*stream_);
    work();
    held_.back().done.record(*stream_);
  }
  while (held_.size() > 1 && held_bytes_ - held_.back().bytes > kMostHeld) let_go_oldest();
}

/// The memory may be used again by what the current stream does next.
void SideStream::let_go_oldest() {
  held_.front().done.block(comm::current_stream(device_));
  held_bytes_ -= held_.front().bytes;
  held_.pop_front();
}

void SideStream::precede_current() const {
  if (!held_.empty()) held_.back().done.block(comm::current_stream(device_));
}

void SideStream::join() {
  precede_current();
  held_.clear();
  held_bytes_ = 0;
}

void SideStream::abandon() noexcept {
  try {
    join();
  } catch (const std::exception& error) {
    log::debug("sharding", std::string("gradients beside a pass that failed: ") + error.what());
    held_.clear();
    held_bytes_ = 0;
  }
}

}  // namespace sheaf::sharding
