#pragma once

#include <array>
#include <csignal>
#include <optional>

namespace sheaf::train {

/// What people and schedulers end a run with. Where ranks got different ones, the first of these
/// counts: who presses Ctrl-C does not want the run to be started again.
inline constexpr std::array<int, 3> kStopSignals = {SIGINT, SIGTERM, SIGUSR1};

/// Notices these signals while it lives, so that a run can save and end by itself. A SIGINT that is
/// not the first signal does what it would do without a watch: it ends the process. The others may
/// come again and again: schedulers and launchers both send them. What was ignored before (nohup)
/// stays ignored. Several watches, such as those of ranks that are threads, see the same signal;
/// the last one to go puts back what was there before the first.
class InterruptionWatch {
 public:
  InterruptionWatch();
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  /// Returns the first signal that has come since the first of the living watches was made.
  [[nodiscard]] std::optional<int> requested() const;

  /// Lets schedulers' signals change nothing any more, also when the watch is gone: for a process
  /// that ends because one of them came. It shall leave with its own code, though launchers and
  /// schedulers may still be passing the signal on.
  void ignore_from_now_on() const;
};

}  // namespace sheaf::train
