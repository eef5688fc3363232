#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/comm/group.h"
#include "sheaf/comm/traffic.h"
#include "sheaf/profile/account.h"
#include "sheaf/profile/recording.h"
#include "sheaf/profile/straggler.h"
#include "sheaf/train/options.h"
#include "sheaf/train/phase_clock.h"

namespace sheaf::train {

/// What the ranks have told each other at the end of a run.
struct RankComparison {
  profile::Imbalance imbalance;
  /// Where each rank's time went, in the steps that count.
  std::vector<profile::StepTimes> times;
};

/// What a run finds out about its own time: the account of every step, traces of some, and at the
/// end who was slow. Every rank has one, and all must call the same.
class RunProfile {
 public:
  RunProfile(const RunOptions& options, const comm::Group& world);
  ~RunProfile();
  RunProfile(const RunProfile&) = delete;
  RunProfile& operator=(const RunProfile&) = delete;

  /// Says so where all steps to be recorded were done before a run that goes on after `done`.
  void resume_after(std::int64_t done);
  /// Tells whether the step behind `step` may begin before that has ended.
  [[nodiscard]] bool lets_next_begin_in(std::int64_t step) const {
    return is_due(step) ? options_.profile.replays && is_due(step + 1) : !is_due(step + 1);
  }
  /// Starts a recording where one begins with `step`, counted from 1. `is_behind` says that the one
  /// before it has not ended.
  void before_step(std::int64_t step, bool is_behind);
  /// Returns where the step's time went; nothing where accounting is off, since then not all is
  /// known.
  [[nodiscard]] std::optional<profile::Account> account(std::int64_t step, const StepSpans& spans);
  /// Forgets what it has noted of steps behind `step`: they will be taken again.
  void went_back_to(std::int64_t step);
  /// Writes the traces where `step` was the last one to be recorded, or the run ends.
  void after_step(std::int64_t step, bool run_ends);
  /// Compares the ranks: `times` are this one's, of so many steps. Nothing where accounting is off.
  [[nodiscard]] RankComparison compare_ranks(const profile::StepTimes& times,
                                             std::int64_t steps) const;

 private:
  /// Tells whether `step`, counted from 1, is to be recorded.
  [[nodiscard]] bool is_due(std::int64_t step) const {
    return range_ && step >= range_->first && step <= range_->last;
  }
  /// What is known of a recorded step besides what the recorder has seen.
  struct Noted {
    std::int64_t step = 0;
    StepSpans spans;
    comm::Traffic traffic;
  };

  void save();
  [[nodiscard]] profile::TraceNotes notes() const;
  void merge(const std::vector<std::string>& clocks) const;

  RunOptions options_;
  comm::Group world_;
  Recorder recorder_;
  std::optional<StepRange> range_;
  profile::ArrivalLog arrivals_;
  /// While a trace is recorded.
  std::unique_ptr<profile::Recording> recording_;
  std::vector<Noted> noted_;
  /// What was counted up to where counting for the trace goes on.
  comm::Traffic before_;
};

}  // namespace sheaf::train
