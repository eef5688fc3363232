#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/base/units.h"
#include "sheaf/comm/watch.h"

namespace sheaf::train {

/// What happens to a step whose loss or gradients are not numbers to go on with.
enum class OnBadNumbers { stop, skip, rollback };

/// What happens to a run whose copies of the weights differ.
enum class OnOutOfSync { stop, rollback };

constexpr auto enum_names(OnBadNumbers) {
  return std::array{EnumName{"stop", OnBadNumbers::stop},
                    EnumName{"skip", OnBadNumbers::skip},
                    EnumName{"rollback", OnBadNumbers::rollback}};
}

constexpr auto enum_names(OnOutOfSync) {
  return std::array{EnumName{"stop", OnOutOfSync::stop},
                    EnumName{"rollback", OnOutOfSync::rollback}};
}

/// What a run does about ranks that hang or differ and numbers that go wrong; docs/watchdog.md
/// says more.
struct FaultSection {
  comm::Check check = comm::Check::cheap;
  /// As long as NCCL waits by itself.
  Seconds timeout{600};
  OnBadNumbers nonfinite = OnBadNumbers::stop;
  bool trace_nonfinite = false;
  OnBadNumbers spike = OnBadNumbers::stop;
  double spike_factor = 0;
  std::int64_t spike_window = 50;
  std::int64_t max_skips = 10;
  std::int64_t sync_every = 0;
  OnOutOfSync out_of_sync = OnOutOfSync::stop;
  std::vector<std::string> inject;
};

template <class Fields>
void describe(Fields& field, FaultSection& fault) {
  field("check", fault.check, "how the ranks' calls are compared");
  field("timeout",
        fault.timeout,
        "how long an exchange may wait for a rank before the run is ended; 0: for ever",
        at_least(Seconds(0)));
  field("nonfinite", fault.nonfinite, "when a loss or a gradient is not finite");
  field("trace_nonfinite",
        fault.trace_nonfinite,
        "name the ranks that made such gradients: a look at all of them in every step");
  field("spike", fault.spike, "when a loss is far above those before it");
  field("spike_factor",
        fault.spike_factor,
        "how many times the median of the last losses is too much; 0: nothing is",
        at_least(0.0));
  field("spike_window", fault.spike_window, "losses the median is taken of", at_least(3));
  field("max_skips", fault.max_skips, "steps left out in a row before the run ends", at_least(1));
  field("sync_every",
        fault.sync_every,
        "steps between comparisons of the ranks' weights; 0: none",
        at_least(0));
  field("out_of_sync", fault.out_of_sync, "when the ranks' weights differ");
  field("inject", fault.inject, "faults to make happen, for drills, such as kill:rank=1:step=5");
}

struct RunOptions;

/// Throws UsageError for faults that cannot be, or policies that lack what they need.
void check_faults(const RunOptions& options, int ranks);

}  // namespace sheaf::train
