#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sheaf/base/options.h"

namespace sheaf::train {

/// What a run finds out about its own time; docs/profiling.md shows it.
struct ProfileSection {
  /// Whether every step says where its time went.
  bool accounting = true;
  /// Steps to record a trace of, counted from 1: "10:13" is four of them; empty: none.
  std::string steps;
  /// Whether these are replays of a CUDA graph where other steps are: from the sixth on. Their
  /// trace has kernels, but no operators of forward, backward and update.
  bool replays = false;
};

template <class Fields>
void describe(Fields& field, ProfileSection& profile) {
  field("accounting", profile.accounting, "tell where the time of every step goes");
  field("steps", profile.steps, "steps to record a trace of, as FIRST:LAST; empty: none");
  field("replays",
        profile.replays,
        "recorded steps are replays of a CUDA graph where others are: kernels, but no operators");
}

/// Steps to record, the last one too.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Returns the steps to record; unset for none. Throws UsageError for a text that is no range.
[[nodiscard]] std::optional<StepRange> recorded_steps(const ProfileSection& profile);

/// Throws UsageError if a run of so many steps never comes to those that are to be recorded.
void check_recorded_steps(const ProfileSection& profile, std::int64_t steps);

}  // namespace sheaf::train
