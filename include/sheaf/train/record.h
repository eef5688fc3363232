#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/profile/account.h"
#include "sheaf/profile/step_times.h"

namespace sheaf::train {

using PhaseTimes = profile::StepTimes;

/// Bytes of one rank. What a device does not know is 0.
struct MemoryUse {
  /// Held by live tensors now, and at most since the start.
  Bytes allocated;
  Bytes peak_allocated;
  /// Held by live tensors or waiting for a stream (CUDA).
  Bytes peak_active;
  /// Taken from the device, used or not.
  Bytes reserved;
  /// The process's own memory: now, and at most.
  Bytes resident;
  Bytes peak_resident;
};

/// One optimizer step, summed over ranks where it says so.
struct StepRecord {
  /// Counted from 1.
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  /// Mean over all targets of the global batch.
  double loss = 0;
  double learning_rate = 0;
  /// Of all gradients before clipping; unset when nobody asked for it.
  std::optional<double> gradient_norm;
  /// Global batch: tokens of texts, or images.
  std::int64_t items = 0;
  /// Hash of the numbers of the global batch's samples, in order; the same for any number of ranks.
  std::uint64_t sample_hash = 0;
  /// Wall-clock time of the whole step on rank 0.
  Seconds time{0};
  /// Of rank 0, as the two below; all 0 and none where accounting is off.
  PhaseTimes phases;
  std::vector<profile::CollectiveUse> collectives;
  std::vector<profile::UnitUse> units;
  MemoryUse memory;
  /// Whether the step was left out because gradients overflowed (fp16).
  bool skipped = false;
};

struct EvaluationRecord {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  double loss = 0;
  /// Part of the samples that were classified rightly; unset for texts.
  std::optional<double> accuracy;
  std::int64_t items = 0;
  Seconds time{0};
};

/// What is known before the first step.
struct RunInfo {
  /// "tokens" or "images".
  std::string item_name = "tokens";
  std::string model;
  std::int64_t parameters = 0;
  double flops_per_item = 0;
  int ranks = 1;
  /// What computes: a rank's share of the cores each, or GPUs, of which ranks may share one.
  int devices = 1;
  std::string strategy;
  std::string backend;
  std::string device;
  std::string mesh;
  std::string precision;
  std::string data;
  std::string batch;
  /// Optimizer steps the run is to have.
  std::int64_t steps = 0;
  /// Steps done before this run began.
  std::int64_t first_step = 0;
  /// Bytes per rank by purpose, as planned or as already held: ("parameters", 12 MiB).
  std::vector<std::pair<std::string, Bytes>> memory;
  /// What one device can do at best in the run's precision; 0 when unknown.
  double peak_flops_per_device = 0;
  /// Where that number is from, such as "NVIDIA H200, bf16" or "measured by a matrix product".
  std::string peak_source;
};

}  // namespace sheaf::train
