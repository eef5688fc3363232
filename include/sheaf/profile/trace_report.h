#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/profile/account.h"
#include "sheaf/profile/trace.h"

namespace sheaf::profile {

/// Where the time of a rank's recorded steps went, by unions of intervals. On a GPU compute is what
/// kernels do but for exchanges; on the CPU the named phases without waiting, or all operators
/// where there are none.
struct TraceTimes {
  std::int64_t steps = 1;
  Seconds time{0};
  Seconds compute{0};
  /// Exchanges, copies and waiting for data, without what compute hid.
  Seconds non_compute{0};
  Seconds idle{0};
  /// Anything at all: compute and the rest, without what counts twice.
  Seconds kernel{0};
  /// What the ranges of these names cover, without waiting and, for data, without exchanges; 0 in
  /// traces of others.
  Seconds optimizer{0};
  Seconds data_wait{0};
  Seconds communication{0};
  /// Exchanges while the rank computed.
  Seconds hidden{0};

  [[nodiscard]] double compute_share() const;
  /// The part of communication that was hidden; unset where there was none.
  [[nodiscard]] std::optional<double> overlap() const;
  /// communication x (1 - overlap).
  [[nodiscard]] Seconds exposed() const { return communication - hidden; }
  [[nodiscard]] Seconds idle_per_step() const { return idle / static_cast<double>(steps); }
};

/// One operator or kernel in the recorded steps. `self` leaves out the operators that it calls.
struct OperatorUse {
  std::string name;
  std::int64_t calls = 0;
  Seconds total{0};
  Seconds self{0};
};

struct RankTrace {
  TraceOwner owner;
  bool on_gpu = false;
  TraceTimes times;
  std::vector<CollectiveUse> collectives;
  /// The costliest first.
  std::vector<OperatorUse> operators;
};

/// Works out one report per rank of a trace.
[[nodiscard]] std::vector<RankTrace> report_on(const Trace& trace);

/// What a healthy run keeps to.
struct TraceThresholds {
  double min_compute = 97;
  double min_overlap = 95;
  Seconds max_idle{0.1};
};

struct Verdict {
  bool passed = false;
  /// Names the rank that is worst, and its number: "compute 91.2 % on rank 1, should be ...".
  std::string text;
  /// What to try; empty where it passed.
  std::string advice;
};

[[nodiscard]] std::vector<Verdict> judge(const std::vector<RankTrace>& ranks,
                                         const TraceThresholds& thresholds);

}  // namespace sheaf::profile
