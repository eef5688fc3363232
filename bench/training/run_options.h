#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/comm/init.h"
#include "sheaf/sharding/options.h"

namespace sheaf::bench {

/// What becomes of the exchanges of sheaf's side: they run beside the computation; each is waited
/// for where it starts; there are none (every rank computes with what is in its memory), which
/// tells how long the computation alone takes.
enum class Exchange { beside, waited, none };

constexpr auto enum_names(Exchange) {
  return std::array{EnumName{"beside", Exchange::beside},
                    EnumName{"waited", Exchange::waited},
                    EnumName{"none", Exchange::none}};
}

/// One training run of one strategy, on either side.
struct RunOptions {
  /// One of kStrategies, or "alone".
  std::string strategy;
  /// sheaf's side: "plain" is layer by layer what PyTorch's side has, "gpt2" is sheaf's own model.
  std::string model = "gpt2";
  /// One of kSizes.
  std::string size = "14m";
  /// On CUDA both sides run on the one GPU, PyTorch over gloo.
  comm::DeviceKind device = comm::DeviceKind::cpu;
  /// sheaf's side.
  comm::BackendKind backend = comm::BackendKind::automatic;
  Exchange exchange = Exchange::beside;
  /// Steps that are measured, after those that are not.
  int steps = 10;
  int warm_up = 3;
  /// Texts per rank; 0: 8 over all ranks, 4 for one alone.
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

/// One process without peers, which sheaf takes as a group of one rank.
inline constexpr Strategy kAlone{"alone", Stage::ddp, "no wrapper"};

/// Returns the texts that each rank takes.
[[nodiscard]] inline int batch_per_rank(const RunOptions& options, int num_ranks) {
  constexpr int kTextsOfAll = 8;
  constexpr int kTextsAlone = 4;
  if (options.batch > 0) return options.batch;
  if (num_ranks == 1) return kTextsAlone;
  return kTextsOfAll > num_ranks ? kTextsOfAll / num_ranks : 1;
}

}  // namespace sheaf::bench
