#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sheaf::comm {

/// Where this process stands among the ranks of the run, as its starter says.
struct Place {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  /// Where ranks meet.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  /// The starter serves the store itself; rank 0 must not.
  bool starter_serves = false;
  /// That starter is `sheaf launch`, whose store asks for the run's secret.
  bool is_sheafs_store = false;
  /// A store whose machine has not answered for that long is gone.
  std::chrono::milliseconds silence{15'000};
  /// The starter said that all ranks are on this machine.
  bool one_host = false;
  /// Differs between restarts of the same run.
  std::string generation;
  /// Who started it: torchrun, mpirun, srun, or nobody.
  std::string starter;
};

/// Looks up one variable of the environment.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads the variables of torchrun (and `sheaf launch`), OpenMPI or Slurm, in this order. Throws
/// UsageError that names the variable which is missing or makes no sense.
[[nodiscard]] Place read_environment(const Lookup& lookup);
/// Looks into the environment of this process.
[[nodiscard]] std::optional<std::string> process_variable(const std::string& name);

}  // namespace sheaf::comm
