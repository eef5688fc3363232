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
///
/// Note [Steps behind one another]: where the host need not know what came of a step to give the
/// next one to the device, it does so, with a clock of its own for each. Then a step lasts from the
/// end of the one before to its own end, so that no time between them is lost. What the recorder
/// hears belongs to the step that the host gave last.
class PhaseClock {
 public:
  PhaseClock(at::Device device, const comm::Group& group);
  ~PhaseClock();
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  /// Begins a step. What the recorder has heard since the last one belongs to neither.
  void start();
  /// Begins a step behind one that is still under way; CUDA only. After the other's finish() comes
  /// follow(), before this one's finish().
  void start_behind(PhaseClock& other);
  void follow(const PhaseClock& other);
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
