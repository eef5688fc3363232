#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sheaf/comm/group.h"

namespace sheaf::train {

/// Where a rank's clock is, and how it is read.
struct ClockPlace {
  /// Ranks with the same text share a clock.
  std::string host;
  /// Returns nanoseconds.
  std::function<std::int64_t()> now;
};

/// Returns this process's: the clock of Recorder::now(), which the ranks of a running kernel share.
[[nodiscard]] ClockPlace own_clock();

/// Returns by how many nanoseconds this rank's clock is ahead of rank 0's: exactly 0 where they
/// share one, else what the quickest of some messages there and back tells, which is wrong by half
/// of its time at most. Every rank must call it.
[[nodiscard]] std::int64_t clock_offset(const comm::Group& group, const ClockPlace& clock);

}  // namespace sheaf::train
