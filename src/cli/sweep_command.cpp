#include "cli/sweep_command.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "cli/option_set.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/train/interruption.h"
#include "study/files.h"
#include "study/sweep.h"

namespace sheaf::cli {

void SweepCommand::declare(OptionSet& options) {
  options.config_file();
  options.value("ranks", ranks_, "ranks of each run on this machine", at_least(1));
  options.value("steps", steps_, "steps of each run", at_least(3));
  options.value("from", first_, "smallest micro-batch", between(1, 1 << 20));
  options.value("to", most_, "largest to try, if memory does not end before", between(1, 1 << 20));
  options.value("out", out_, "folder that keeps the runs; empty: they are removed");
  options.flag("json", json_, "print JSON instead of a table");
  options.add(options_);
}

int SweepCommand::run(Console& console) {
  if (first_ > most_) {
    throw UsageError(fmt::format("--from may be at most --to, which is {}, got {}", most_, first_));
  }
  // From here on a signal ends the run at hand, and the folder goes with this function.
  const train::InterruptionWatch interruption;
  std::optional<study::ScratchFolder> scratch;
  if (out_.empty()) scratch.emplace();
  const auto folder = scratch ? scratch->path() : std::filesystem::path(out_);
  study::make_folder(folder);
  train::check_options(options_, ranks_);
  study::SweepOptions options{
      .run = options_, .ranks = ranks_, .steps = steps_, .first = first_, .most = most_};
  options.run.memory.limit = study::sweep_limit(options_, ranks_);
  const study::Json sweep = study::run_sweep(options, [&](std::int64_t batch) {
    log::info("sweep", fmt::format("micro-batch {}", batch));
    return study::measure_batch(options, batch, folder);
  });
  if (!out_.empty()) {
    study::replace_file(folder / "sweep.json",
                        sweep.dump(2, ' ', false, study::Json::error_handler_t::replace) + "\n");
  }
  console.out << (json_ ? sweep.dump(2, ' ', false, study::Json::error_handler_t::replace) + "\n"
                        : study::sweep_page(sweep));
  return 0;
}

}  // namespace sheaf::cli
