#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sheaf/comm/group.h"
#include "sheaf/train/checkpointer.h"
#include "sheaf/train/options.h"
#include "sheaf/train/sink.h"

namespace sheaf::train {

class Drill;

/// Who takes part in a run besides the trainer.
struct Hooks {
  /// Who is told how it goes; only rank 0's are.
  std::vector<std::shared_ptr<Sink>> sinks;
  /// Null: what the options' section `checkpoint` says.
  std::shared_ptr<Checkpointer> checkpointer;
  /// Asked in every step: the number of the signal that asks the run to end, or 0. Where any rank
  /// is asked, all end after that step, or after the next one where that is under way already; by
  /// the first of kStopSignals that one of them named; any
  /// other number counts as SIGTERM.
  std::function<int()> stop_signal;
  /// Told by every rank, after a restore and after every step, how many steps are done.
  std::function<void(std::int64_t)> progress;
  /// Whether tensors of forward passes are counted for the block that makes them.
  bool labels_memory = false;
  /// Null: what `fault.inject` says, but for faults of calls, which need a group that knows of
  /// them.
  std::shared_ptr<Drill> drill = nullptr;
};

/// Prepares this process for computing: number of threads, flushed denormals, the precision of
/// products, determinism. Best before any other thread and before CUDA starts: threads inherit it
/// (those of operators and of groups get it in any case), and cuBLAS reads its settings once.
void set_up_process(const RunOptions& options);

/// Trains as the options say: the whole of `sheaf train` but for files and command line. Every rank
/// must call it. Throws UsageError before the first step for what cannot be, and RunOutOfMemory
/// where memory.limit or the device has too little.
[[nodiscard]] Summary run(const RunOptions& options, const comm::Group& world, const Hooks& hooks);

}  // namespace sheaf::train
