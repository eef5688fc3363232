#include "cli/train_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>
#include <ostream>

#include "cli/exit_codes.h"
#include "cli/option_set.h"
#include "comm/environment.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/progress.h"
#include "sheaf/launch/start_ranks.h"
#include "sheaf/memory/cpu_reuse.h"
#include "sheaf/train/baseline.h"
#include "sheaf/train/interruption.h"
#include "sheaf/train/run_folder.h"
#include "sheaf/train/run_out_of_memory.h"
#include "sheaf/train/sinks.h"
#include "sheaf/train/trainer.h"
#include "train/drill.h"

namespace sheaf::cli {
namespace {

train::ConsoleOptions console_options(const train::LogSection& log) {
  train::ConsoleOptions options{.live = isatty(STDOUT_FILENO) == 1, .every = log.every};
  winsize window{};
  if (options.live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    options.columns = window.ws_col;
  }
  return options;
}

std::vector<std::shared_ptr<train::Sink>> open_sinks(const train::RunOptions& options,
                                                     std::ostream& out) {
  // Read before the folder is opened, which may be the same one.
  std::shared_ptr<train::Sink> comparison;
  if (!options.log.baseline.empty()) {
    comparison = train::baseline_sink(out, train::read_baseline(options.log.baseline));
  }
  auto sinks = train::open_run_folder(options);
  sinks.push_back(train::console_sink(out, console_options(options.log)));
  if (comparison) sinks.push_back(comparison);
  return sinks;
}

/// Returns how ranks of this run join: those that hang or differ end, at once and with a code that
/// says so, because whoever waits for them in another library cannot be woken.
comm::InitOptions watched(const train::RunOptions& options, train::Drill* drill) {
  comm::InitOptions init = options.comm;
  init.watch = {.check = options.fault.check,
                .timeout = options.fault.timeout,
                .folder = options.log.dir,
                .end_process = [](const std::string&) { ::_exit(comm::kWatchExitCode); }};
  if (drill != nullptr) init.interference = drill->interference();
  return init;
}

}  // namespace

void TrainCommand::declare(OptionSet& options) {
  options.config_file();
  options.value("ranks", ranks_, "ranks to start on this machine", at_least(1));
  options.value("mps", mps_, "let ranks that share a GPU run side by side (NVIDIA's MPS)");
  options.value("max-restarts",
                restarts_.max_restarts,
                "with --ranks: times all ranks start again after one has failed",
                at_least(0));
  options.value("max-fruitless",
                restarts_.max_fruitless,
                "failures in a row without a new step that end the run; 0: any number",
                at_least(0));
  options.value("min-ranks",
                restarts_.min_ranks,
                "ranks that go on when others cannot; 0: all are needed",
                at_least(0));
  options.value("ranks-file", restarts_.ranks_file, "file that says how many ranks there are now");
  options.add(options_);
}

// What would go wrong at the first restart is said before the first rank starts.
void TrainCommand::check_restarts() const {
  const bool restarts = restarts_.max_restarts > 0 || restarts_.min_ranks > 0;
  if (restarts && (options_.checkpoint.dir.empty() || options_.checkpoint.every == 0)) {
    throw UsageError(
        "--max-restarts and --min-ranks need checkpoints to go on from: set checkpoint.dir and "
        "checkpoint.every");
  }
  if (restarts_.min_ranks == 0) return;
  for (int ranks = restarts_.min_ranks; ranks < ranks_; ++ranks) {
    try {
      train::check_options(options_, ranks);
    } catch (const UsageError& error) {
      std::rethrow_exception(
          error.with_prefix("--min-ranks: " + std::to_string(ranks) + " ranks could not go on: "));
    }
  }
}

int TrainCommand::run(Console& console) {
  // What is wrong is said once, before any rank starts. A rank of a job checks with the others.
  const bool is_rank = comm::read_environment(comm::process_variable).size > 1;
  // Fewer ranks than at the start share the same batch, which they need not divide.
  if (restarts_.min_ranks > 0 || comm::process_variable("SHEAF_MIN_RANKS")) {
    options_.batch.uneven = true;
  }
  if (!is_rank) {
    train::check(options_, ranks_);
    check_restarts();
  }
  const bool on_gpu = options_.comm.device == comm::DeviceKind::cuda;
  if (const auto exit_code = launch::start_ranks(
          {.mps = on_gpu ? mps_ : launch::Mps::off, .run_dir = options_.log.dir})) {
    return *exit_code;
  }
  memory::reuse_cpu_memory();
  train::set_up_process(options_);
  const int rank = comm::read_environment(comm::process_variable).rank;
  const auto drill = train::make_drill(options_.fault, train::drill_options(options_, rank));
  const comm::Group world = comm::init(watched(options_, drill.get()));
  const train::InterruptionWatch watch;
  launch::Progress progress;
  train::Hooks hooks{.stop_signal = [&watch] { return watch.requested().value_or(0); },
                     .progress = [&progress](std::int64_t step) { progress.report(step); },
                     .drill = drill};
  if (world.rank() == 0) hooks.sinks = open_sinks(options_, console.out);
  try {
    const train::Summary summary = train::run(options_, world, hooks);
    if (summary.signal == 0) return 0;
    watch.ignore_from_now_on();
    return exit_code_of_stop(summary.signal);
  } catch (const train::RunOutOfMemory& error) {
    console.err << error.page();
    throw;
  }
}

}  // namespace sheaf::cli
