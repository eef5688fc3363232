#pragma once

#include <optional>

namespace sheaf::train {

/// Notices SIGINT, SIGTERM and SIGUSR1 while it lives, so that a run can save and end by itself. A
/// SIGINT that is not the first signal does what it would do without a watch: it ends the process.
/// The others may come again and again: schedulers and launchers both send them. What was ignored
/// before (nohup) stays ignored. Several watches, such as those of ranks that are threads, see the
/// same signal; the last one to go puts back what was there before the first.
class InterruptionWatch {
 public:
  InterruptionWatch();
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  /// Returns the first signal that has come since the first of the living watches was made.
  [[nodiscard]] std::optional<int> requested() const;
};

}  // namespace sheaf::train
