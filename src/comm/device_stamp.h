#pragma once

#include <c10/core/Stream.h>

#include <memory>

#include "sheaf/base/recorder.h"

namespace sheaf::comm {

/// Returns the stream on which this thread's work for `device` goes.
[[nodiscard]] c10::Stream current_stream(at::Device device);

/// Returns a stamp that the device reaches when it has done all that was issued so far on `stream`,
/// or, where the stream is captured, whenever a replay comes there. Nobody waits for it.
[[nodiscard]] std::shared_ptr<const Stamp> stamp_now(const c10::Stream& stream);

/// Blocks until a stamp made by stamp_now(), of a stream that was not captured, was reached.
void wait_for(const Stamp& stamp);
/// Returns the device's own event behind such a stamp.
[[nodiscard]] void* event_of(const Stamp& stamp);

}  // namespace sheaf::comm
