#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sheaf/comm/init.h"

namespace sheaf::comm {

struct RunRanksOptions {
  /// shared (also what automatic means on the CPU), gloo, or fake; forked ranks on CUDA also
  /// one_gpu.
  BackendKind backend = BackendKind::automatic;
  /// Where forked ranks have their tensors. Threads are always ranks of the CPU.
  DeviceKind device = DeviceKind::cpu;
  Seconds timeout{1800};
  WatchOptions watch = {};
  Interference interference = nullptr;
};

/// Runs `body` on `num_ranks` ranks that are threads of this process, and returns when all have
/// ended. When one throws, the others are ended too, and the first exception is rethrown with its
/// rank in front. For tests, debuggers and sanitizers: all ranks are in one process.
void run_ranks(int num_ranks,
               const std::function<void(Group)>& body,
               const RunRanksOptions& options = {});

/// How a forked rank ended.
struct RankOutcome {
  /// What it exited with; -1 if a signal killed it.
  int exit_code = 0;
  /// 0 if it exited by itself.
  int signal = 0;
  /// What it threw, if it did (then the exit code is the error's).
  std::string error;
};

/// The same with processes: forks a child per rank and waits for all. For tests that kill a rank.
/// Children compute with one thread, because pools of threads do not survive a fork; nor does CUDA,
/// which this process must not have used before.
std::vector<RankOutcome> run_ranks_forked(int num_ranks,
                                          const std::function<void(Group)>& body,
                                          const RunRanksOptions& options = {});

}  // namespace sheaf::comm
