#include "device_stamp.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cmath>

#include "captured.h"

namespace sheaf::comm {
namespace {

/// An event that keeps time. LibTorch's interface is the same for all devices, so this needs no
/// twin.
class EventStamp final : public Stamp {
 public:
  explicit EventStamp(const c10::Stream& stream)
      : event_(stream.device_type(), c10::EventFlag::BACKEND_DEFAULT) {
    event_.record(stream);
  }

  [[nodiscard]] bool reached() const override { return event_.query(); }

  [[nodiscard]] std::int64_t since(const Stamp& earlier) const override {
    constexpr double kNanosecondsPerMillisecond = 1e6;
    const double ms = static_cast<const EventStamp&>(earlier).event_.elapsedTime(event_);
    return std::llround(ms * kNanosecondsPerMillisecond);
  }

  void wait() const { event_.synchronize(); }
  [[nodiscard]] void* event() const { return event_.eventId(); }

 private:
  c10::Event event_;
};

}  // namespace

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

std::shared_ptr<const Stamp> stamp_now(const c10::Stream& stream) {
  if (is_captured(stream)) return replayed_stamp(stream);
  return std::make_shared<EventStamp>(stream);
}

void wait_for(const Stamp& stamp) { static_cast<const EventStamp&>(stamp).wait(); }

void* event_of(const Stamp& stamp) { return static_cast<const EventStamp&>(stamp).event(); }

}  // namespace sheaf::comm
