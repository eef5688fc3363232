#pragma once

#include <filesystem>
#include <functional>

#include "sheaf/train/options.h"
#include "study/bench.h"
#include "study/json.h"

namespace sheaf::study {

struct SweepOptions {
  /// Its memory.limit is what each rank may take: see sweep_limit().
  train::RunOptions run;
  int ranks = 1;
  std::int64_t steps = 6;
  /// Smallest and largest micro-batch to try.
  std::int64_t first = 1;
  std::int64_t most = 4096;
};

/// What one try of the sweep found.
enum class Fit { fits, too_large };

/// Looks for the largest number that fits: doubles from `first` until one does not or `most` is
/// reached, then halves the gap. Calls `try_it` once for each number. Returns 0 if not even the
/// first fits.
[[nodiscard]] std::int64_t largest_that_fits(std::int64_t first,
                                             std::int64_t most,
                                             const std::function<Fit(std::int64_t)>& try_it);

/// Returns the number of the row at the knee: the smallest batch that comes within a twentieth of
/// the highest speed. Rows without a speed do not count; -1 of none.
[[nodiscard]] int knee_of(const Json& rows);

/// Returns what one rank may take where the options do not say: on the CPU its share of nine tenths
/// of what the system, or the control group, has free; no limit for GPUs, which end by themselves.
[[nodiscard]] Bytes sweep_limit(const train::RunOptions& run, int ranks);

/// Trains with one micro-batch after the other, each in processes of its own, and returns what
/// docs/study.md describes. `run_batch` makes a row; it is there so that rows can be kept.
using RunBatch = std::function<Json(std::int64_t batch)>;
[[nodiscard]] Json run_sweep(const SweepOptions& options, const RunBatch& run_batch);

/// Makes the row of one micro-batch.
[[nodiscard]] Json measure_batch(const SweepOptions& options,
                                 std::int64_t batch,
                                 const std::filesystem::path& folder);

/// Returns the table for people.
[[nodiscard]] std::string sweep_page(const Json& sweep);

}  // namespace sheaf::study
