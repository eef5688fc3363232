#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

#include "sheaf/base/units.h"
#include "sheaf/data/pack.h"

namespace sheaf::cli {

/// Shows how far reading has come: a bar that moves on a terminal, a line now and then elsewhere.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool live);
  /// Takes the bar away again.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const data::ReadProgress& progress);
  [[nodiscard]] Seconds elapsed() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  bool live_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

/// Returns the line of a progress after some time: a bar, the part that is done, speed, tokens, and
/// the time that is left.
[[nodiscard]] std::string progress_text(const data::ReadProgress& progress, Seconds elapsed);

}  // namespace sheaf::cli
