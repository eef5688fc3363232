#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "sheaf/base/units.h"
#include "sheaf/train/sink.h"

namespace sheaf::train {

/// How an earlier run ended, from its metrics.jsonl.
struct Baseline {
  std::string folder;
  int ranks = 1;
  std::string strategy;
  Seconds elapsed{0};
  double items_per_second = 0;
  std::optional<double> evaluation_loss;
  std::optional<double> accuracy;
};

/// Reads the last run that a log folder tells of. Throws UsageError if there is none, or if it did
/// not come to its end.
[[nodiscard]] Baseline read_baseline(const std::string& folder);

/// Writes, at the end of a run, how it compares: times, speed-up, result.
[[nodiscard]] std::unique_ptr<Sink> baseline_sink(std::ostream& out, Baseline baseline);

}  // namespace sheaf::train
