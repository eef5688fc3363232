#include "study/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory_room.h"
#include "sheaf/base/error.h"
#include "study/strategies.h"

namespace sheaf::study {
namespace {

// How near to the highest speed a batch is good enough.
constexpr double kNearTheTop = 0.95;
// Part of the free memory that tensors may take: the rest is for programs, libraries and the
// system.
constexpr double kUsablePart = 0.9;

}  // namespace

std::int64_t largest_that_fits(std::int64_t first,
                               std::int64_t most,
                               const std::function<Fit(std::int64_t)>& try_it) {
  std::int64_t good = 0;
  std::int64_t bad = most + 1;
  for (std::int64_t batch = first; batch <= most; batch *= 2) {
    if (try_it(batch) == Fit::too_large) {
      bad = batch;
      break;
    }
    good = batch;
  }
  // Where nothing was too large, powers of two are enough.
  if (bad == most + 1) return good;
  // Halving below an eighth of the batch costs more runs than it tells.
  while (good > 0 && bad - good > std::max<std::int64_t>(1, good / 8)) {
    const std::int64_t middle = good + (bad - good) / 2;
    (try_it(middle) == Fit::fits ? good : bad) = middle;
  }
  return good;
}

int knee_of(const Json& rows) {
  double best = 0;
  for (const Json& row : rows) best = std::max(best, row.value("items_per_second", 0.0));
  int knee = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (best <= 0 || rows[i].value("items_per_second", 0.0) < kNearTheTop * best) continue;
    const auto smallest = [&] { return rows[knee]["batch"].get<std::int64_t>(); };
    if (knee < 0 || rows[i]["batch"].get<std::int64_t>() < smallest()) knee = static_cast<int>(i);
  }
  return knee;
}

Bytes sweep_limit(const train::RunOptions& run, int ranks) {
  if (run.memory.limit.count > 0 || run.comm.device != comm::DeviceKind::cpu) {
    return run.memory.limit;
  }
  return {
      static_cast<std::int64_t>(kUsablePart * static_cast<double>(free_memory().count) / ranks)};
}

Json measure_batch(const SweepOptions& options,
                   std::int64_t batch,
                   const std::filesystem::path& folder) {
  StrategyRun run{.options = options.run,
                  .strategy = options.run.shard.stage,
                  .ranks = options.ranks,
                  .steps = options.steps};
  run.options.batch = {.global = batch * options.ranks, .micro = batch};
  Trial trial{
      .name = fmt::format("batch_{}", batch), .options = options_for(run), .ranks = options.ranks};
  trial.options.train.compare_weights = false;
  const TrialResult result = run_trial(trial, folder);
  if (result.ending == Ending::failed) {
    throw Error(fmt::format("the run with micro-batch {} failed: {}", batch, result.reason));
  }
  Json row = {{"batch", batch}};
  row.update(row_of(result, trial.options, options.ranks));
  row.erase("environment");
  row.erase("losses");
  return row;
}

Json run_sweep(const SweepOptions& options, const RunBatch& run_batch) {
  Json rows = Json::array();
  const std::int64_t largest =
      largest_that_fits(options.first, options.most, [&](std::int64_t batch) {
        rows.push_back(run_batch(batch));
        return rows.back()["ending"] == "finished" ? Fit::fits : Fit::too_large;
      });
  // Tried in the order of the search, told in that of the batches.
  std::sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["batch"].get<std::int64_t>() < b["batch"].get<std::int64_t>();
  });
  const int knee = knee_of(rows);
  return {{"ranks", options.ranks},
          {"strategy", options.run.shard.stage},
          {"limit", options.run.memory.limit.count},
          {"largest", largest},
          {"ended_by_memory",
           std::ranges::any_of(rows, [](const Json& row) { return row["ending"] != "finished"; })},
          {"knee", knee < 0 ? Json() : rows[knee]["batch"]},
          {"rows", rows}};
}

}  // namespace sheaf::study
