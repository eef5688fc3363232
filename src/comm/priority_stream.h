#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace sheaf::comm {

/// Whose work a GPU takes first where several streams have some that is ready. What runs already is
/// never interrupted.
enum class StreamPriority {
  /// What has time until the step is over.
  last,
  /// What others wait for, but not now.
  middle,
  /// What everything waits for: the computation itself, and exchanges.
  first,
};

/// Returns a stream of LibTorch's pools. Not for CPUs.
[[nodiscard]] c10::Stream priority_stream(c10::Device device, StreamPriority priority);

}  // namespace sheaf::comm
