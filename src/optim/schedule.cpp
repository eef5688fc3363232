#include "sheaf/optim/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "checks.h"
#include "sheaf/base/error.h"

namespace sheaf::optim {
namespace {

void check_steps(std::string_view what, std::int64_t steps) {
  if (steps < 0) {
    throw UsageError(fmt::format("{} of a schedule must be at least 0, got {}", what, steps));
  }
}

void check_decay(const ScheduleOptions& options) {
  if (options.kind != ScheduleKind::warmup_stable_decay) {
    if (options.decay_steps == 0) return;
    throw UsageError(fmt::format(
        "a {} schedule has no decay_steps, got {}", enum_name(options.kind), options.decay_steps));
  }
  if (options.decay_steps == 0) {
    throw UsageError("a warmup_stable_decay schedule needs decay_steps, got 0");
  }
  if (options.decay_steps > options.total_steps - options.warmup_steps) {
    throw UsageError(
        fmt::format("warmup_steps and decay_steps must fit in the {} total_steps, got {} and {}",
                    options.total_steps,
                    options.warmup_steps,
                    options.decay_steps));
  }
}

/// Returns how far `step` is on the way from `begin` to `end`, between 0 and 1.
double progress(std::int64_t step, std::int64_t begin, std::int64_t end) {
  if (step <= begin) return 0;
  return static_cast<double>(step - begin) / static_cast<double>(end - begin);
}

/// Returns the share of the way from final_factor up to 1 that is left.
double share_left(const ScheduleOptions& options, std::int64_t step) {
  switch (options.kind) {
    case ScheduleKind::constant:
      return 1;
    case ScheduleKind::linear:
      return 1 - progress(step, options.warmup_steps, options.total_steps);
    case ScheduleKind::cosine: {
      const double done = progress(step, options.warmup_steps, options.total_steps);
      return (1 + std::cos(std::numbers::pi * done)) / 2;
    }
    case ScheduleKind::warmup_stable_decay:
      return 1 - progress(step, options.total_steps - options.decay_steps, options.total_steps);
  }
  return 1;
}

}  // namespace

void check(const ScheduleOptions& options) {
  check_steps("warmup_steps", options.warmup_steps);
  check_steps("total_steps", options.total_steps);
  check_steps("decay_steps", options.decay_steps);
  if (!(options.final_factor >= 0 && options.final_factor <= 1)) {
    throw UsageError(fmt::format("final_factor of a schedule must be between 0 and 1, got {}",
                                 options.final_factor));
  }
  if (options.kind != ScheduleKind::constant && options.total_steps == 0) {
    throw UsageError(
        fmt::format("a {} schedule needs total_steps, got 0", enum_name(options.kind)));
  }
  if (options.total_steps > 0 && options.warmup_steps > options.total_steps) {
    throw UsageError(fmt::format("warmup_steps must fit in the {} total_steps, got {}",
                                 options.total_steps,
                                 options.warmup_steps));
  }
  check_decay(options);
}

double learning_rate_factor(const ScheduleOptions& options, std::int64_t step) {
  check(options);
  check_steps("the step", step);
  if (step < options.warmup_steps) {
    return static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps);
  }
  if (options.kind == ScheduleKind::constant) return 1;
  if (step >= options.total_steps) return options.final_factor;
  return options.final_factor + (1 - options.final_factor) * share_left(options, step);
}

}  // namespace sheaf::optim
