#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "sheaf/base/units.h"

namespace sheaf::bench {

/// When the steps of a run were seen to have ended, counted from the start of the watch.
struct StepArrivals {
  std::vector<Seconds> steps;

  /// Returns when the first step had ended; 0 if none did.
  [[nodiscard]] double first_s() const;
  /// Returns what a step took on average, those of the warm-up left out; 0 if there were no others.
  [[nodiscard]] double mean_ms(std::int64_t warm_up) const;
};

/// Watches the lines of a run's metrics.jsonl as they come, by the wall clock: it sees also what a
/// run does between its steps, and all before the first one.
class StepWatch {
 public:
  explicit StepWatch(std::string path);

  /// Looks once more and returns what was seen.
  [[nodiscard]] StepArrivals stop();

 private:
  void look();

  std::string path_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::streamoff read_ = 0;
  StepArrivals arrivals_;
  /// Last, so that it ends before what it writes to.
  std::jthread thread_;
};

}  // namespace sheaf::bench
