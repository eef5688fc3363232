#include "cli/trace_command.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/option_set.h"
#include "cli/trace/pages.h"
#include "sheaf/base/error.h"
#include "sheaf/profile/trace.h"
#include "sheaf/profile/trace_difference.h"

namespace sheaf::cli {
namespace {

std::vector<profile::RankTrace> reports_of(const std::string& path) {
  auto ranks = profile::report_on(profile::read_trace(path));
  if (ranks.empty()) throw UsageError(fmt::format("no rank of {} did anything", path));
  return ranks;
}

}  // namespace

void TraceCommand::declare(OptionSet& options) {
  options.positional("trace", path_, "file, or log folder of a run with --profile.steps");
  options.value("against", against_, "trace to compare with: what does the first do differently?");
  options.flag("json", json_, "print JSON instead of tables");
  options.value("top", top_, "operators to list; 0: all", at_least(0));
  options.value("min-compute",
                thresholds_.min_compute,
                "percent of the time that a healthy run computes",
                between(0, 100));
  options.value("min-overlap",
                thresholds_.min_overlap,
                "percent of communication that it hides",
                between(0, 100));
  options.value("max-idle", thresholds_.max_idle, "idle time of a step", at_least(0));
}

int TraceCommand::run(Console& console) {
  const auto ranks = reports_of(path_);
  if (!against_.empty()) {
    const auto others = reports_of(against_);
    const auto difference = profile::difference(others.front(), ranks.front());
    console.out << (json_ ? trace::difference_json(difference)
                          : trace::difference_page(difference, top_));
    return 0;
  }
  const auto verdicts = profile::judge(ranks, thresholds_);
  console.out << (json_ ? trace::report_json(ranks, verdicts)
                        : trace::report_page(ranks, verdicts, top_));
  return 0;
}

}  // namespace sheaf::cli
