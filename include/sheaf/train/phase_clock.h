#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "sheaf/comm/group.h"
#include "sheaf/train/record.h"

namespace sheaf::train {

enum class Phase { data_wait, forward, backward, optimizer };

/// Splits a step's time into phases. On the CPU, waiting for exchanges is taken out of the phase it
/// fell into. On CUDA the phases are those of the device's stream, by events that nobody waits for
/// until the end of the step; what exchanges cost there stays in the phase.
class PhaseClock {
 public:
  PhaseClock(at::Device device, comm::Group group);
  ~PhaseClock();
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  /// Begins a step.
  void start();
  /// Ends a phase: what has passed since the last mark was it.
  void mark(Phase phase);
  /// Ends the step, on CUDA when the device has done it, and returns where the time went.
  [[nodiscard]] PhaseTimes finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::train
