#include "sheaf/train/tracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sheaf::train {
namespace {

constexpr double kGood = 0.3;
constexpr double kVeryGood = 0.4;
constexpr double kExcellent = 0.5;
// A phase that takes less than this part of a step does not explain a poor MFU.
constexpr double kLargePhase = 0.15;
constexpr double kSecondsPerHour = 3600;

struct Suspect {
  Seconds time{0};
  std::string_view what;
  std::string_view advice;
};

std::int64_t warm_up_of(const RunInfo& info, const TrackerOptions& options) {
  const std::int64_t run = info.steps - info.first_step;
  // A run without a known end is a long one.
  return run > 0 ? std::min(options.warm_up, run / 2) : options.warm_up;
}

double per_second(std::int64_t count, Seconds time) {
  return time.count() > 0 ? static_cast<double>(count) / time.count() : 0;
}

}  // namespace

void Tracker::Totals::add(const StepRecord& step) {
  ++steps;
  items += step.items;
  time += step.time;
  account += {.times = step.phases, .collectives = step.collectives, .units = step.units};
}

Tracker::Tracker(const RunInfo& info, const TrackerOptions& options)
    : info_(info), options_(options), warm_up_(warm_up_of(info, options)) {}

void Tracker::add(const StepRecord& step) {
  all_.add(step);
  if (all_.steps > warm_up_) counted_.add(step);
}

void Tracker::add_pause(Seconds time) { pauses_ += time; }

Progress Tracker::progress() const {
  const Totals& from = speeds_from();
  Progress progress;
  progress.counted_steps = from.steps;
  progress.steps_per_second = per_second(from.steps, from.time);
  progress.items_per_second = per_second(from.items, from.time);
  progress.items_per_second_per_device = progress.items_per_second / info_.devices;
  progress.achieved_flops = progress.items_per_second * info_.flops_per_item;
  progress.peak_flops = info_.peak_flops_per_device * info_.devices;
  if (progress.peak_flops > 0) progress.mfu = progress.achieved_flops / progress.peak_flops;
  progress.elapsed = all_.time + pauses_;
  const std::int64_t left = info_.steps - info_.first_step - all_.steps;
  if (left > 0 && from.steps > 0) {
    progress.remaining = from.time / static_cast<double>(from.steps) * static_cast<double>(left);
  }
  if (options_.price_per_hour > 0) {
    const double hours = progress.elapsed.count() / kSecondsPerHour;
    progress.cost = hours * info_.devices * options_.price_per_hour;
  }
  return progress;
}

const profile::Account& Tracker::account() const { return speeds_from().account; }

const Tracker::Totals& Tracker::speeds_from() const { return counted_.steps > 0 ? counted_ : all_; }

std::string_view mfu_band(double mfu) {
  if (mfu >= kExcellent) return "excellent";
  if (mfu >= kVeryGood) return "very good";
  return mfu >= kGood ? "good" : "poor";
}

std::string low_mfu_reason(double mfu, const PhaseTimes& phases) {
  if (mfu >= kGood || phases.total().count() <= 0) return "";
  const std::array suspects = {
      Suspect{phases.data_wait,
              "waiting for data",
              "raise data.workers or data.prefetch, or put the data on a faster disk"},
      Suspect{phases.exposed_communication,
              "waiting for other ranks",
              "try a larger batch per rank, more accumulation, or a strategy that sends less"},
      Suspect{phases.optimizer,
              "the optimizer",
              "try a larger batch per rank, or cut its work over ranks with zero1"}};
  const auto largest = std::ranges::max_element(suspects, {}, &Suspect::time);
  const double share = largest->time / phases.total();
  if (share < kLargePhase) {
    return "small products leave the device waiting for work: try a larger batch per rank or a "
           "lower precision";
  }
  return fmt::format(
      "{} takes {:.0f} % of a step: {}", largest->what, 100 * share, largest->advice);
}

}  // namespace sheaf::train
