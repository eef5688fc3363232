#include "study/traces.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"
#include "sheaf/profile/trace.h"
#include "sheaf/profile/trace_difference.h"
#include "sheaf/profile/trace_report.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

std::vector<profile::RankTrace> ranks_in(const fs::path& folder) {
  auto ranks = profile::report_on(profile::read_trace(folder.string()));
  if (ranks.empty()) throw Error(fmt::format("no rank of {} did anything", folder.string()));
  return ranks;
}

/// Times are per step.
Json times_json(const profile::RankTrace& rank) {
  const profile::TraceTimes& times = rank.times;
  const auto steps = static_cast<double>(times.steps);
  const auto overlap = times.overlap();
  return {{"rank", rank.owner.rank},
          {"steps", times.steps},
          {"seconds", times.time.count() / steps},
          {"compute", times.compute.count() / steps},
          {"non_compute", times.non_compute.count() / steps},
          {"idle", times.idle.count() / steps},
          {"kernel", times.kernel.count() / steps},
          {"communication", times.communication.count() / steps},
          {"exposed", times.exposed().count() / steps},
          {"compute_share", times.compute_share()},
          {"overlap", overlap ? Json(*overlap) : Json()}};
}

Json collectives_json(const profile::RankTrace& rank) {
  const auto steps = static_cast<double>(rank.times.steps);
  Json rows = Json::array();
  for (const profile::CollectiveUse& use : rank.collectives) {
    rows.push_back({{"collective", use.collective},
                    {"purpose", use.purpose},
                    {"calls", static_cast<double>(use.exchanged.calls) / steps},
                    {"bytes", static_cast<double>(use.exchanged.bytes.count) / steps},
                    {"seconds", use.exchanged.time.count() / steps}});
  }
  return rows;
}

Json verdicts_json(const std::vector<profile::RankTrace>& ranks) {
  Json rows = Json::array();
  for (const profile::Verdict& verdict : profile::judge(ranks, {})) {
    rows.push_back(
        {{"passed", verdict.passed}, {"text", verdict.text}, {"advice", verdict.advice}});
  }
  return rows;
}

Json rows_json(const std::vector<profile::Difference>& rows, double before, double after) {
  Json list = Json::array();
  for (const profile::Difference& row : rows) {
    list.push_back({{"name", row.name},
                    {"change", name(row.change)},
                    {"calls_before", static_cast<double>(row.calls_before) / before},
                    {"calls_after", static_cast<double>(row.calls_after) / after},
                    {"seconds_before", row.before.count() / before},
                    {"seconds_after", row.after.count() / after}});
  }
  return list;
}

}  // namespace

Json profile_strategy(const StrategyRun& run,
                      const std::string& name,
                      std::int64_t recorded,
                      const fs::path& folder) {
  Trial trial{.name = name, .options = options_for(run), .ranks = run.ranks};
  trial.options.train.compare_weights = false;
  trial.options.profile.steps = fmt::format("{}:{}", run.steps - recorded + 1, run.steps);
  const TrialResult result = run_trial(trial, folder);
  if (result.ending != Ending::finished) return {{"reason", result.reason}};
  const auto ranks = ranks_in(folder / name);
  Json by_rank = Json::array();
  for (const profile::RankTrace& rank : ranks) by_rank.push_back(times_json(rank));
  return {{"command", result.command},
          {"ranks", by_rank},
          {"collectives", collectives_json(ranks.front())},
          {"verdicts", verdicts_json(ranks)}};
}

Json trace_difference(const fs::path& before, const fs::path& after) {
  const auto difference = profile::difference(ranks_in(before).front(), ranks_in(after).front());
  const auto steps_before = static_cast<double>(difference.steps_before);
  const auto steps_after = static_cast<double>(difference.steps_after);
  return {{"collectives", rows_json(difference.collectives, steps_before, steps_after)},
          {"operators", rows_json(difference.operators, steps_before, steps_after)}};
}

}  // namespace sheaf::study
