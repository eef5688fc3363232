#include "data/epoch_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

std::int64_t batches_in(std::int64_t samples, std::int64_t batch) {
  return (samples + batch - 1) / batch;
}

}  // namespace

EpochPlan::EpochPlan(const Options& options) : options_(options) {
  const auto& [size, global_batch, partial_batches, start] = options;
  if (global_batch < 1) {
    throw UsageError(fmt::format("a global batch has at least 1 sample, got {}", global_batch));
  }
  if (start.epoch < 0 || start.done < 0 || start.done > size) {
    throw UsageError(
        fmt::format("the data has {} samples per epoch, so it cannot be at sample {} of epoch {}: "
                    "is this the data that the run began with?",
                    size,
                    start.done,
                    start.epoch));
  }
  // The end of an epoch is the beginning of the next one.
  options_.start = after(start, 0);
}

PlannedBatch EpochPlan::batch(std::int64_t number) const {
  const auto& [size, global_batch, partial_batches, start] = options_;
  if (!partial_batches) return {after(start, number * global_batch), global_batch};

  Position position = start;
  const std::int64_t in_first_epoch = batches_in(size - start.done, global_batch);
  if (number < in_first_epoch) {
    position.done += number * global_batch;
  } else {
    const std::int64_t later = number - in_first_epoch;
    const std::int64_t per_epoch = batches_in(size, global_batch);
    position = {start.epoch + 1 + later / per_epoch, later % per_epoch * global_batch};
  }
  return {position, std::min(global_batch, size - position.done)};
}

Position EpochPlan::after(Position position, std::int64_t samples) const {
  const std::int64_t done = position.done + samples;
  return {position.epoch + done / options_.size, done % options_.size};
}

}  // namespace sheaf::data
