#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "sheaf/base/recorder.h"
#include "sheaf/comm/group.h"
#include "sheaf/profile/intervals.h"

namespace sheaf::train {

enum class Phase { data_wait, forward, backward, optimizer };

/// One step as it was recorded, in nanoseconds of Recorder::now().
struct StepSpans {
  profile::Interval window;
  std::vector<Span> spans;
};

/// Splits a step's time into phases, and puts what the rank's recorder has heard beside them. On
/// CUDA the phases are those of the device's stream, by stamps that nobody waits for until the end
/// of the step.
class PhaseClock {
 public:
  PhaseClock(at::Device device, const comm::Group& group);
  ~PhaseClock();
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  /// Begins a step.
  void start();
  /// Ends a phase: what has passed since the last mark was it.
  void mark(Phase phase);
  /// The same for one that ended at a moment of the device; CUDA only, before a plain mark().
  void mark(Phase phase, std::shared_ptr<const Stamp> end);
  /// Ends the step, on CUDA when the device has done it, and returns what happened in it.
  [[nodiscard]] StepSpans finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::train
