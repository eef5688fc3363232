#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/sharding/options.h"

namespace sheaf::bench {

/// One training run of one strategy, on either side.
struct RunOptions {
  /// One of kStrategies.
  std::string strategy;
  /// Steps that are measured, after those that are not.
  int steps = 10;
  int warm_up = 3;
  /// Texts per rank; 0: 8 over all ranks.
  int batch = 0;
  double learning_rate = 1e-3;
};

struct Strategy {
  const char* name;
  Stage stage;
  /// What PyTorch calls it.
  const char* in_pytorch;
};

inline constexpr std::array kStrategies{
    Strategy{"ddp", Stage::ddp, "DDP"},
    Strategy{"zero1", Stage::zero1, "DDP + ZeroRedundancyOptimizer"},
    Strategy{"zero2", Stage::zero2, "FSDP2, kept after forward"},
    Strategy{"zero3", Stage::zero3, "FSDP2, resharded after forward"}};

/// Returns the texts that each rank takes.
[[nodiscard]] inline int batch_per_rank(const RunOptions& options, int num_ranks) {
  constexpr int kTextsOfAll = 8;
  if (options.batch > 0) return options.batch;
  return kTextsOfAll > num_ranks ? kTextsOfAll / num_ranks : 1;
}

}  // namespace sheaf::bench
