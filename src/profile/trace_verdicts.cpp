#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sheaf/profile/trace_report.h"

namespace sheaf::profile {
namespace {

std::string_view pass_or_fail(bool passed) { return passed ? "pass" : "fail"; }

/// Says what to do about a rank that computes too little, by what it does instead.
std::string compute_advice(const TraceTimes& times) {
  struct Suspect {
    Seconds time;
    std::string_view advice;
  };
  const std::array suspects = {
      Suspect{times.exposed(),
              "most of the rest is exposed communication: try a larger batch per rank, more "
              "accumulation, or a strategy that sends less (zero2 before zero3)"},
      Suspect{times.data_wait,
              "most of the rest is waiting for data: raise data.workers or data.prefetch"},
      Suspect{times.idle,
              "most of the rest is idle: operators are too small to keep the device busy, so try "
              "a larger batch per rank"}};
  return std::string(std::ranges::max_element(suspects, {}, &Suspect::time)->advice);
}

Verdict verdict(bool passed, const std::string& what, std::string advice) {
  return {.passed = passed,
          .text = fmt::format("{}: {}", pass_or_fail(passed), what),
          .advice = passed ? "" : std::move(advice)};
}

Verdict judge_compute(const std::vector<RankTrace>& ranks, double least) {
  const auto worst = std::ranges::min_element(
      ranks, {}, [](const RankTrace& rank) { return rank.times.compute_share(); });
  const double percent = 100 * worst->times.compute_share();
  return verdict(percent >= least,
                 fmt::format("compute {:.2f} % on rank {}, should be at least {} %",
                             percent,
                             worst->owner.rank,
                             least),
                 compute_advice(worst->times));
}

Verdict judge_overlap(const std::vector<RankTrace>& ranks, double least) {
  const auto worst = std::ranges::min_element(
      ranks, {}, [](const RankTrace& rank) { return rank.times.overlap().value_or(1); });
  const auto overlap = worst->times.overlap();
  if (!overlap) return verdict(true, "overlap: no communication to hide", "");
  return verdict(100 * *overlap >= least,
                 fmt::format("overlap {:.2f} % on rank {}, should be at least {} %",
                             100 * *overlap,
                             worst->owner.rank,
                             least),
                 "communication waits in line: leave shard.overlap and shard.prefetch on, try "
                 "smaller buckets (shard.bucket), units per block, or a larger batch per rank");
}

Verdict judge_idle(const std::vector<RankTrace>& ranks, Seconds most) {
  const auto worst = std::ranges::max_element(
      ranks, {}, [](const RankTrace& rank) { return rank.times.idle_per_step(); });
  return verdict(worst->times.idle_per_step() <= most,
                 fmt::format("idle {} a step on rank {}, should be at most {}",
                             to_string(worst->times.idle_per_step()),
                             worst->owner.rank,
                             to_string(most)),
                 "the device waits for the host: try a larger batch per rank, fewer values read "
                 "back (log.every), and look for gaps between kernels in the trace");
}

}  // namespace

std::vector<Verdict> judge(const std::vector<RankTrace>& ranks, const TraceThresholds& thresholds) {
  if (ranks.empty()) return {};
  return {judge_compute(ranks, thresholds.min_compute),
          judge_overlap(ranks, thresholds.min_overlap),
          judge_idle(ranks, thresholds.max_idle)};
}

}  // namespace sheaf::profile
