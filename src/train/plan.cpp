#include "sheaf/train/plan.h"

#include <fmt/format.h>

#include "divided_up.h"
#include "sheaf/base/error.h"

namespace sheaf::train {
namespace {

std::int64_t count_steps(const RunOptions& options, const data::Dataset& dataset) {
  const TrainSection& train = options.train;
  if (train.steps > 0) return train.steps;
  // Divided twice, since the tokens of a batch may be too many to count.
  if (train.tokens > 0) {
    return divided_up(divided_up(train.tokens, dataset.targets_per_sample()), options.batch.global);
  }
  const std::int64_t per_epoch = divided_up(dataset.size(), options.batch.global);
  if (per_epoch > kMost / train.epochs) {
    throw UsageError(
        fmt::format("a run has at most {} steps: set train.epochs lower or batch.global higher, "
                    "got {} epochs of {} steps",
                    kMost,
                    train.epochs,
                    per_epoch));
  }
  return train.epochs * per_epoch;
}

void check_length(const TrainSection& train) {
  const int given = (train.steps > 0) + (train.tokens > 0) + (train.epochs > 0);
  if (given == 1) return;
  if (given == 0) {
    throw UsageError("the run has no length: set one of train.steps, train.tokens, train.epochs");
  }
  throw UsageError(
      fmt::format("only one of train.steps, train.tokens and train.epochs can say how long the run "
                  "is, got {}, {} and {}",
                  train.steps,
                  train.tokens,
                  train.epochs));
}

void check_micro(const BatchOptions& batch, int ranks) {
  if (batch.micro == 0 || batch.uneven || batch.global % (batch.micro * ranks) == 0) return;
  throw UsageError(
      fmt::format("batch.global must be a multiple of batch.micro times the number of ranks, "
                  "{} x {} = {}, not {}",
                  batch.micro,
                  ranks,
                  batch.micro * ranks,
                  batch.global));
}

optim::ScheduleOptions schedule_of(const RunOptions& options, std::int64_t steps) {
  optim::ScheduleOptions schedule = options.schedule;
  const bool ends = schedule.kind != optim::ScheduleKind::constant;
  if (ends && schedule.total_steps == 0) {
    if (schedule.warmup_steps > steps) {
      throw UsageError(fmt::format("schedule.warmup_steps = {} is longer than the run of {} steps",
                                   schedule.warmup_steps,
                                   steps));
    }
    schedule.total_steps = steps;
  }
  optim::check(schedule);
  return schedule;
}

}  // namespace

RunPlan plan_run(const RunOptions& options, const data::Dataset& dataset, int ranks) {
  check_length(options.train);
  check_micro(options.batch, ranks);
  const std::int64_t share = divided_up(options.batch.global, ranks);
  const std::int64_t micro = options.batch.micro > 0 ? options.batch.micro : share;
  const std::int64_t steps = count_steps(options, dataset);
  check_recorded_steps(options.profile, steps);
  return {.steps = steps,
          .accumulation = divided_up(share, micro),
          .micro_batch = micro,
          .partial_batches = options.train.epochs > 0,
          .schedule = schedule_of(options, steps)};
}

}  // namespace sheaf::train
