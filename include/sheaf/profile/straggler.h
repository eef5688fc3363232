#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sheaf/base/recorder.h"
#include "sheaf/base/units.h"
#include "sheaf/profile/step_times.h"

namespace sheaf::profile {

/// When one rank came to an exchange, in nanoseconds of a clock that all ranks share.
struct Arrival {
  /// Names the call among all calls of the run: its group and its number.
  std::string call;
  /// What was exchanged: "all_gather parameters".
  std::string what;
  std::int64_t time = 0;
};

/// What one rank tells the others at the end of a run.
struct RankReport {
  std::int64_t steps = 0;
  /// Of all these steps together.
  StepTimes times;
  std::vector<Arrival> arrivals;
};

/// Keeps a rank's newest arrivals.
class ArrivalLog {
 public:
  /// `most` is how many are worth sending around.
  explicit ArrivalLog(std::size_t most) : most_(most) {}

  void add(std::span<const Span> spans);
  /// Returns them by a clock that is `offset` nanoseconds behind this rank's.
  [[nodiscard]] std::vector<Arrival> arrivals(const Recorder& recorder, std::int64_t offset) const;

 private:
  std::size_t most_;
  std::vector<Span> newest_;
  std::size_t next_ = 0;
};

/// How far apart the ranks came to one kind of exchange.
struct Spread {
  std::string what;
  std::int64_t calls = 0;
  Seconds mean{0};
  Seconds longest{0};
  /// The rank that came last most often.
  int last_rank = 0;
};

/// A rank that the others wait for.
struct Straggler {
  int rank = 0;
  /// Where it takes longer than the others: "forward", "backward", "optimizer" or "data".
  std::string phase;
  /// How much longer than the middle one of the others, per step.
  Seconds excess{0};
  /// The part of a step for which the middle one of the others waits longer than it does itself.
  double share = 0;
};

struct Imbalance {
  /// The widest first.
  std::vector<Spread> spreads;
  std::optional<Straggler> straggler;
};

/// Compares the ranks' reports, in rank order.
[[nodiscard]] Imbalance find_imbalance(const std::vector<RankReport>& ranks);

/// What a report looks like on its way to another rank.
[[nodiscard]] std::string to_text(const RankReport& report);
[[nodiscard]] RankReport parse_report(const std::string& text);

}  // namespace sheaf::profile
