#pragma once

#include <optional>
#include <string>

#include "sheaf/launch/launcher.h"

namespace sheaf::launch {

/// Lets any program take `--ranks N` and start itself: runs N copies of this program without that
/// option and returns their exit code. Returns nothing where the program shall go on by itself:
/// without `--ranks` and `--max-restarts`, or as a rank of a job (torchrun, `sheaf launch`, mpirun,
/// srun) of N ranks. Throws UsageError for a bad N, or one that is not the size of the job.
/// Arguments after `--` are not looked at. With `--ranks` also `--mps auto|on|off` is taken out,
/// and how the run may go on after a failure: `--max-restarts N`, `--max-fruitless N`, `--min-ranks
/// N` and `--ranks-file FILE` of LaunchOptions. Call it first in main.
[[nodiscard]] std::optional<int> start_ranks(int argc, char** argv);

/// What a program knows of its ranks; `--mps on` and `off` on the command line go before it.
struct StartOptions {
  Mps mps = Mps::automatic;
  /// See LaunchOptions.
  std::string run_dir{};
};

/// The same for code that is far from main: takes the command line from the system.
[[nodiscard]] std::optional<int> start_ranks(const StartOptions& options = {});

}  // namespace sheaf::launch
