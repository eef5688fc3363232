#include "cli/bench_command.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "cli/option_set.h"
#include "sheaf/base/log.h"
#include "sheaf/train/interruption.h"
#include "study/bench.h"
#include "study/bench_page.h"
#include "study/files.h"
#include "study/strategies.h"

namespace sheaf::cli {

void BenchCommand::declare(OptionSet& options) {
  options.config_file();
  options.value("strategies", strategies_, "what to compare; none: all that the ranks can take");
  options.value("ranks", ranks_, "ranks of each run on this machine", at_least(2));
  options.value("steps", steps_, "steps of each run", at_least(3));
  options.value("against", against_, "run these strategies of PyTorch's, too");
  options.value("python", python_, "Python with torch, for --against pytorch");
  options.value("out", out_, "folder that keeps the runs; empty: they are removed");
  options.flag("json", json_, "print JSON instead of tables");
  options.add(options_);
}

int BenchCommand::run(Console& console) {
  // From here on a signal ends the run at hand, and the folder goes with this function.
  const train::InterruptionWatch interruption;
  std::optional<study::ScratchFolder> scratch;
  if (out_.empty()) scratch.emplace();
  const auto folder = scratch ? scratch->path() : std::filesystem::path(out_);
  study::make_folder(folder);
  const study::Json bench = study::run_bench(
      {.run = options_,
       .strategies = strategies_.empty() ? study::usual_strategies(ranks_) : strategies_,
       .ranks = ranks_,
       .steps = steps_,
       .python = against_ == study::Against::pytorch ? python_ : ""},
      folder,
      [](const std::string& what) { log::info("bench", what); });
  if (!out_.empty())
    study::replace_file(folder / "bench.json",
                        bench.dump(2, ' ', false, study::Json::error_handler_t::replace) + "\n");
  console.out << (json_ ? bench.dump(2, ' ', false, study::Json::error_handler_t::replace) + "\n"
                        : study::bench_page(bench));
  return study::all_is_well(bench) ? 0 : 1;
}

}  // namespace sheaf::cli
