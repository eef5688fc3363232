#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sheaf/comm/group.h"
#include "sheaf/comm/traffic.h"
#include "sheaf/profile/account.h"
#include "sheaf/profile/recording.h"
#include "sheaf/profile/straggler.h"
#include "sheaf/train/options.h"
#include "sheaf/train/phase_clock.h"

namespace sheaf::train {

/// What a run finds out about its own time: the account of every step, traces of some, and at the
/// end who was slow. Every rank has one, and all must call the same.
class RunProfile {
 public:
  RunProfile(const RunOptions& options, const comm::Group& world);
  ~RunProfile();
  RunProfile(const RunProfile&) = delete;
  RunProfile& operator=(const RunProfile&) = delete;

  /// Starts a recording where one begins with `step`, counted from 1.
  void before_step(std::int64_t step);
  /// Returns where the step's time went.
  [[nodiscard]] profile::Account account(std::int64_t step, const StepSpans& spans);
  /// Writes the traces where `step` was the last one to be recorded, or the run ends.
  void after_step(std::int64_t step, bool run_ends);
  /// Compares the ranks: `times` are this one's, of so many steps.
  [[nodiscard]] profile::Imbalance compare_ranks(const profile::StepTimes& times,
                                                 std::int64_t steps) const;

 private:
  void save();

  RunOptions options_;
  comm::Group world_;
  Recorder recorder_;
  std::optional<StepRange> range_;
  std::int64_t clock_offset_ = 0;
  profile::ArrivalLog arrivals_;
  /// While a trace is recorded.
  std::unique_ptr<profile::Recording> recording_;
  profile::TraceNotes notes_;
  /// What was counted when the step began, and in all recorded steps.
  comm::Traffic before_;
  comm::Traffic recorded_;
};

}  // namespace sheaf::train
