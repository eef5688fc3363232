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

/// Speeds since the warm-up, and what follows from them. Until the warm-up is over, all steps so
/// far count.
struct Progress {
  /// Steps that the speeds are a mean of.
  std::int64_t counted_steps = 0;
  double items_per_second = 0;
  double items_per_second_per_device = 0;
  double steps_per_second = 0;
  /// FLOP/s of all devices together, by the model's own count.
  double achieved_flops = 0;
  double peak_flops = 0;
  /// achieved / peak; unset where the peak is unknown.
  std::optional<double> mfu;
  /// Of this run, pauses included.
  Seconds elapsed{0};
  /// For the steps that are left, without pauses.
  Seconds remaining{0};
  /// Of all devices for the time elapsed; unset without a price.
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
  /// Where the time went, of all steps that count for the speeds.
  [[nodiscard]] const profile::Account& account() const;

 private:
  struct Totals {
    std::int64_t steps = 0;
    std::int64_t items = 0;
    Seconds time{0};
    profile::Account account;

    void add(const StepRecord& step);
  };

  [[nodiscard]] const Totals& speeds_from() const;

  RunInfo info_;
  TrackerOptions options_;
  std::int64_t warm_up_;
  Totals all_;
  Totals counted_;
  Seconds pauses_{0};
};

/// Returns "excellent" from 50 % on, "very good" from 40, "good" from 30, else "poor".
[[nodiscard]] std::string_view mfu_band(double mfu);
/// Returns the likely reason of a poor MFU, from where the time went, and what to try; empty when
/// it is not poor, or nobody has kept account of the time.
[[nodiscard]] std::string low_mfu_reason(double mfu, const PhaseTimes& phases);

}  // namespace sheaf::train
