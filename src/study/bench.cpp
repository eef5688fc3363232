#include "study/bench.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"
#include "sheaf/sharding/strategy.h"
#include "study/peer/pytorch.h"
#include "study/strategies.h"

namespace sheaf::study {
namespace {

Json heading(const BenchOptions& options, const std::filesystem::path& folder) {
  const RunFiles run = read_run(folder / "one_rank");
  return {{"model", run.start["model"]},
          {"parameters", run.start["parameters"]},
          {"items", run.start["items"]},
          {"device", run.start["device"]},
          {"ranks", options.ranks},
          {"steps", options.steps}};
}

void check(const BenchOptions& options) {
  if (options.strategies.empty()) throw UsageError("--strategies needs at least one");
  for (const std::string& strategy : options.strategies) {
    StrategyRun run{.options = options.run,
                    .strategy = strategy,
                    .ranks = options.ranks,
                    .steps = options.steps};
    train::check_options(options_for(run), options.ranks);
  }
  if (!options.python.empty()) check_peer(options.run, options.ranks);
}

}  // namespace

Json run_bench(const BenchOptions& options,
               const std::filesystem::path& folder,
               const Progress& progress) {
  check(options);
  progress("one rank");
  const Json baseline =
      measure_strategy(one_rank(options.run, options.ranks, options.steps), folder);
  if (!baseline.contains("items_per_second")) {
    throw Error(fmt::format("the run on one rank {}", baseline["problems"][0].get<std::string>()));
  }
  Json bench = heading(options, folder);
  Json rows = Json::array();
  for (const std::string& strategy : options.strategies) {
    progress(strategy);
    rows.push_back(measure_strategy({.options = options.run,
                                     .strategy = strategy,
                                     .ranks = options.ranks,
                                     .steps = options.steps},
                                    folder));
  }
  compare_with(baseline, rows);
  bench["baseline"] = baseline;
  bench["strategies"] = rows;
  bench["pytorch"] = Json::array();
  if (!options.python.empty()) bench["pytorch"] = run_peers(options, bench, folder, progress);
  return bench;
}

}  // namespace sheaf::study
