#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/endpoint.h"

namespace sheaf::launch {

/// Where one rank sits in the job.
struct RankPlace {
  int rank = 0;
  int world_size = 1;
  /// Its slot, which chooses its device: where slots are left out, not all numbers are there.
  int local_rank = 0;
  int local_ranks = 1;
  int node_rank = 0;
  int nodes = 1;
  int generation = 0;
  /// The job may go on with fewer ranks; 0: it may not.
  int min_ranks = 0;
  int max_restarts = 0;
  Endpoint endpoint;
};

/// A variable of the environment and its value.
using Variable = std::pair<std::string, std::string>;

/// Returns `environment`, NAME=VALUE each, with `variables` in place of its own.
[[nodiscard]] std::vector<std::string> with_variables(std::span<const std::string> environment,
                                                      const std::vector<Variable>& variables);

/// Returns the environment of one rank as NAME=VALUE: `inherited` with torchrun's variables in
/// place of its own, and OMP_NUM_THREADS = cores / local ranks unless `inherited` has one.
[[nodiscard]] std::vector<std::string> rank_environment(std::span<const std::string> inherited,
                                                        const RankPlace& place,
                                                        int cores);

/// Returns the environment of this process as NAME=VALUE.
[[nodiscard]] std::vector<std::string> current_environment();

/// Returns the name of this machine.
[[nodiscard]] std::string host_name();

/// Returns the file that `name` means: itself with a slash, else the first match in PATH.
/// Throws UsageError that says why there is none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace sheaf::launch
