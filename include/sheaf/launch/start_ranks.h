#pragma once

#include <optional>

namespace sheaf::launch {

/// Lets any program take `--ranks N` and start itself: runs N copies of this program without that
/// option and returns their exit code. Returns nothing where the program shall go on by itself:
/// without `--ranks`, or as a rank of a job (torchrun, `sheaf launch`, mpirun, srun) of N ranks.
/// Throws UsageError for a bad N, or one that is not the size of the job. Arguments after `--` are
/// not looked at. Call it first in main.
[[nodiscard]] std::optional<int> start_ranks(int argc, char** argv);
/// The same for code that is far from main: takes the command line from the system.
[[nodiscard]] std::optional<int> start_ranks();

}  // namespace sheaf::launch
