#pragma once

#include <array>
#include <cstdint>

#include "sheaf/base/options.h"

namespace sheaf::optim {

/// How the learning rate goes on after the warm-up.
enum class ScheduleKind { constant, linear, cosine, warmup_stable_decay };

/// The learning rate over a run, as a factor of its peak. Steps are counted from 0.
///
/// Warm-up: step s < warmup_steps has (s + 1) / warmup_steps, so the first step moves already.
/// Then, until step total_steps, where final_factor is reached and kept:
///   constant             1; total_steps and final_factor do not count
///   linear, cosine       from 1 at step warmup_steps down to final_factor
///   warmup_stable_decay  1, and over the last decay_steps a straight line down to final_factor
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  std::int64_t warmup_steps = 0;
  /// Length of the run, warm-up included; needed by all but constant.
  std::int64_t total_steps = 0;
  double final_factor = 0;
  /// Only for warmup_stable_decay, which needs it.
  std::int64_t decay_steps = 0;
};

/// Throws UsageError for options that do not fit together.
void check(const ScheduleOptions& options);

/// Returns what Optimizer::step takes in this step. Throws UsageError as check does, and for a
/// negative step.
[[nodiscard]] double learning_rate_factor(const ScheduleOptions& options, std::int64_t step);

constexpr auto enum_names(ScheduleKind) {
  return std::array{EnumName{"constant", ScheduleKind::constant},
                    EnumName{"linear", ScheduleKind::linear},
                    EnumName{"cosine", ScheduleKind::cosine},
                    EnumName{"warmup_stable_decay", ScheduleKind::warmup_stable_decay},
                    EnumName{"wsd", ScheduleKind::warmup_stable_decay}};
}

template <class Fields>
void describe(Fields& field, ScheduleOptions& options) {
  field("kind", options.kind, "how the learning rate goes on after the warm-up");
  field("warmup_steps", options.warmup_steps, "steps that rise to the full rate", at_least(0));
  field("total_steps", options.total_steps, "steps of the run, warm-up included", at_least(0));
  field("final_factor", options.final_factor, "what the rate falls to", between(0.0, 1.0));
  field("decay_steps", options.decay_steps, "last steps of warmup_stable_decay", at_least(0));
}

}  // namespace sheaf::optim
