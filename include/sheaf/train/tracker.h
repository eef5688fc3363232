#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sheaf/base/units.h"
#include "sheaf/train/record.h"

namespace sheaf::train {

struct TrackerOptions {
  /// Steps at the start that do not count for speeds; fewer if the run is shorter than twice that.
  std::int64_t warm_up = 5;
  /// Price of one device for an hour, in any currency; 0: unknown.
  double price_per_hour = 0;
};

/// Speeds since the warm-up, and what follows from them.
struct Progress {
  double items_per_second = 0;
  double items_per_second_per_device = 0;
  double steps_per_second = 0;
  /// FLOP/s of all devices together, by the model's own count.
  double achieved_flops = 0;
  double peak_flops = 0;
  /// achieved / peak; unset where the peak is unknown.
  std::optional<double> mfu;
  Seconds elapsed{0};
  Seconds remaining{0};
  std::optional<double> cost;
};

/// Turns steps into speeds. Knows nothing of clocks but what the records say.
class Tracker {
 public:
  Tracker(const RunInfo& info, const TrackerOptions& options);

  void add(const StepRecord& step);
  /// Time that belongs to the run but to no step: evaluation, sampling, saving.
  void add_pause(Seconds time);
  [[nodiscard]] Progress progress() const;
  /// Time by phase, all steps after the warm-up together.
  [[nodiscard]] const PhaseTimes& phases() const;

 private:
  RunInfo info_;
  TrackerOptions options_;
  std::int64_t seen_ = 0;
  std::int64_t counted_ = 0;
  std::int64_t items_ = 0;
  Seconds counted_time_{0};
  Seconds elapsed_{0};
  PhaseTimes phases_;
};

/// Returns "excellent" above 50 %, "very good" above 40, "good" above 30, else "poor".
[[nodiscard]] std::string_view mfu_band(double mfu);
/// Returns the likely reason of a poor MFU, from where the time went, and what to try; empty when
/// it is not poor.
[[nodiscard]] std::string low_mfu_reason(double mfu, const PhaseTimes& phases);

}  // namespace sheaf::train
