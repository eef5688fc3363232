#include "cli/memory_command.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/option_set.h"
#include "comm/environment.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/start_ranks.h"
#include "sheaf/memory/cpu_reuse.h"
#include "sheaf/train/memory_report.h"
#include "sheaf/train/run_out_of_memory.h"
#include "sheaf/train/trainer.h"

namespace sheaf::cli {
namespace {

/// Nothing but the steps, and no files.
train::RunOptions shortened(train::RunOptions options, std::int64_t steps) {
  options.train.steps = steps;
  options.train.tokens = 0;
  options.train.epochs = 0;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  options.train.export_to = "";
  options.schedule.warmup_steps = 0;
  options.log = {};
  options.checkpoint = {};
  options.profile = {};
  return options;
}

}  // namespace

void MemoryCommand::declare(OptionSet& options) {
  options.config_file();
  options.value("ranks", ranks_, "ranks to start on this machine", at_least(1));
  options.value("step", step_, "the step to measure, and the last", at_least(1));
  options.value("steps", steps_, "how many up to that one to measure", between(1, 100));
  options.flag("json", json_, "print JSON instead of a page");
  options.value("snapshot", snapshot_, "file for memory_viz, of rank 0's GPU");
  options.add(options_);
}

int MemoryCommand::run(Console& console) {
  if (!snapshot_.empty() && options_.comm.device != comm::DeviceKind::cuda) {
    throw UsageError("--snapshot is of a GPU's allocator: it needs --comm.device=cuda");
  }
  if (steps_ > step_) {
    throw UsageError(
        fmt::format("--steps may be at most --step, which is {}, got {}", step_, steps_));
  }
  const train::RunOptions options = shortened(options_, step_);
  const bool is_rank = comm::read_environment(comm::process_variable).size > 1;
  if (!is_rank) train::check(options, ranks_);
  if (const auto exit_code = launch::start_ranks()) return *exit_code;
  memory::reuse_cpu_memory();
  train::set_up_process(options);
  const comm::Group world = comm::init(options.comm);
  const auto probe = std::make_shared<train::MemoryProbe>(
      options, train::ProbeOptions{.step = step_, .steps = steps_, .snapshot = snapshot_});
  train::Hooks hooks{.sinks = {probe}, .labels_memory = true};
  try {
    static_cast<void>(train::run(options, world, hooks));
  } catch (const train::RunOutOfMemory& error) {
    console.err << error.page();
    throw;
  }
  if (world.rank() != 0) return 0;
  console.out << (json_ ? train::memory_report_json(probe->report())
                        : train::memory_page(probe->report()));
  return 0;
}

}  // namespace sheaf::cli
