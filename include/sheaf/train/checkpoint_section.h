#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sheaf/base/options.h"

namespace sheaf::train {

/// What happens to a checkpoint that is due while the one before is still being written.
enum class WhenBusy { wait, skip };

/// What happens to a run whose checkpoint cannot be written.
enum class OnSaveError { warn, stop };

constexpr auto enum_names(WhenBusy) {
  return std::array{EnumName{"wait", WhenBusy::wait}, EnumName{"skip", WhenBusy::skip}};
}

constexpr auto enum_names(OnSaveError) {
  return std::array{EnumName{"warn", OnSaveError::warn}, EnumName{"stop", OnSaveError::stop}};
}

/// Where a run leaves what it needs to go on; docs/checkpoints.md says more.
struct CheckpointSection {
  std::string dir;
  std::int64_t every = 0;
  bool resume = true;
  bool asynchronous = true;
  WhenBusy busy = WhenBusy::wait;
  OnSaveError on_error = OnSaveError::warn;
  std::int64_t keep = 3;
  std::int64_t keep_every = 0;
  bool keep_best = false;
};

template <class Fields>
void describe(Fields& field, CheckpointSection& checkpoint) {
  field("dir", checkpoint.dir, "folder for checkpoints; empty: none");
  field("every", checkpoint.every, "steps between; 0: only at the end", at_least(0));
  field("resume", checkpoint.resume, "go on from the newest one that is there");
  field("asynchronous", checkpoint.asynchronous, "write while training goes on");
  field("busy", checkpoint.busy, "when the one before is still being written");
  field("on_error", checkpoint.on_error, "when one cannot be written");
  field("keep", checkpoint.keep, "newest ones that are kept; 0: all", at_least(0));
  field("keep_every", checkpoint.keep_every, "keep multiples of this step, too", at_least(0));
  field("keep_best", checkpoint.keep_best, "keep the lowest evaluation loss, too");
}

}  // namespace sheaf::train
