#pragma once

#include <cstdint>

#include "sheaf/data/order.h"

namespace sheaf::data {

/// Where one global batch begins, and its samples.
struct PlannedBatch {
  Position position;
  std::int64_t samples = 0;
};

/// Cuts epochs of samples into global batches, from a position on. Pure arithmetic.
class EpochPlan {
 public:
  struct Options {
    /// Samples of one epoch.
    std::int64_t size = 1;
    std::int64_t global_batch = 1;
    /// Whether an epoch's last batch may be smaller instead of going on into the next epoch.
    bool partial_batches = false;
    Position start = {};
  };
  /// Throws UsageError for a batch below 1 and a start that is no place of the data.
  explicit EpochPlan(const Options& options);

  /// Returns batch `number`, counted from the start.
  [[nodiscard]] PlannedBatch batch(std::int64_t number) const;
  /// Returns the position `samples` after `position`.
  [[nodiscard]] Position after(Position position, std::int64_t samples) const;

 private:
  Options options_;
};

}  // namespace sheaf::data
