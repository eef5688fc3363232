#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/optim/moments.h"
#include "sheaf/optim/recorded_step.h"
#include "sheaf/optim/rules.h"
#include "sheaf/optim/slot.h"

namespace sheaf::optim {

/// Elements of one segment that are stepped alike: neighbouring slots with the same settings and
/// the same number of steps. The tensors are flat and of one size.
struct Run {
  /// fp32, fp64 or bf16.
  at::Tensor master;
  /// Typed as the master; beside fp32 and bf16 it may be fp32 or bf16.
  at::Tensor gradient;
  /// In the order of Optimizer::state_names(); zeros before the first step.
  std::vector<at::Tensor> states;
  /// Gets the stepped master in its own type, where it is defined.
  at::Tensor copy;
  /// Steps of these slots with this one, so 1 in their first.
  std::int64_t step = 1;
  double learning_rate = 0;
  double weight_decay = 0;
  /// What the gradient is multiplied with: an fp64 scalar beside the others; undefined: with
  /// nothing.
  at::Tensor gradient_scale;
  /// Where Optimizer::numbers() of the run are when its kernels run, if they are recorded;
  /// undefined: as they are now.
  at::Tensor recorded_numbers;
};

/// How often an optimizer stepped, for checkpoints.
struct StepCounts {
  /// Calls of step().
  std::int64_t steps = 0;
  /// Steps that each slot of each segment took part in, also where none of it is kept here.
  std::vector<std::vector<std::int64_t>> slots;

  bool operator==(const StepCounts&) const = default;
};

struct OptimizerSetup {
  ParameterSettings settings = {};
  std::vector<ParameterRule> rules = {};
  std::vector<std::string> state_names = {};
  Moments moments = Moments::fp32;
};

/// What a step may be asked for besides its learning rate.
struct UpdateOptions {
  /// What every gradient is multiplied with, such as the factor that clips them: an fp64 scalar on
  /// the parameters' device; undefined: with nothing.
  at::Tensor gradient_scale = {};
  /// Gets what has to be known for replays, where the current CUDA stream is being captured.
  RecordedStep* recording = nullptr;
};

/// Steps what a SlotSource owns; an algorithm derives from it and says what happens to a run.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Steps every slot that takes part with the learning rate times `learning_rate_factor`, and uses
  /// the gradients up. CUDA segments are stepped in the current stream, without waiting for it.
  void step(double learning_rate_factor = 1.0, const UpdateOptions& options = {});

  /// To be called before the backward pass that completes the gradients: segments are then stepped
  /// within it, each as soon as its gradient is complete, on a GPU beside what the pass computes
  /// still. step() must follow the pass, with the same arguments; it steps what is left and ends
  /// the step. The result is the same, bit for bit. Not with a scale that depends on all gradients,
  /// such as the factor that clips them: there are no gradients left after the pass. Not for models
  /// whose pass reads a parameter once more without a gradient for it, such as weight.detach(). If
  /// the pass fails, some segments may have been stepped.
  ///
  /// Returns false, and changes nothing, where the slots cannot tell when gradients are complete.
  bool step_in_backward(double learning_rate_factor = 1.0, const UpdateOptions& options = {});

  /// Returns room for a step that is to be recorded; to be made before. Throws UsageError where
  /// parameters are not on a GPU. See Note [Recorded steps].
  [[nodiscard]] RecordedStep new_recording() const;
  /// Counts a recorded step, and writes its numbers to the GPU in the current stream, in which it
  /// is replayed next. One copy; does not wait.
  void replay(RecordedStep& recorded, double learning_rate_factor);

  /// Returns how often step() was called, and before that the run whose counts were set.
  [[nodiscard]] std::int64_t num_steps() const { return counts_.steps; }
  [[nodiscard]] const Slots& slots() const { return slots_; }

  /// Returns what is kept per element, such as "exp_avg" and "exp_avg_sq".
  [[nodiscard]] const std::vector<std::string>& state_names() const { return setup_.state_names; }
  /// Returns a state of a segment to read, or to write when loading; shaped as its master. States
  /// are made by the first step of the segment or by this. Throws UsageError for a name or a
  /// segment there is not.
  [[nodiscard]] at::Tensor state(std::string_view name, std::size_t segment);
  /// Returns the type of a segment's states.
  [[nodiscard]] at::ScalarType state_type(std::size_t segment) const;
  [[nodiscard]] const StepCounts& step_counts() const { return counts_; }
  /// Throws UsageError unless there is one count per slot and none is negative.
  void set_step_counts(StepCounts counts);

 protected:
  /// Throws UsageError for segments or rules that cannot be.
  Optimizer(Slots slots, OptimizerSetup setup);

  /// Steps the elements of all runs of a segment: writes master and states, and the copy where
  /// there is one.
  virtual void update(std::span<const Run> runs) = 0;
  /// Returns the numbers that the kernels of a recorded run read: at most kMostNumbers, as many for
  /// every run. Throws UsageError where the algorithm cannot be recorded.
  [[nodiscard]] virtual std::vector<double> numbers(const Run& run) const;

  static constexpr std::int64_t kMostNumbers = 9;

 private:
  void step_segment(std::size_t segment, double learning_rate_factor, const UpdateOptions& options);
  void make_states(std::size_t segment);

  Slots slots_;
  OptimizerSetup setup_;
  /// One per slot of each segment.
  std::vector<std::vector<ParameterSettings>> settings_;
  /// One per name of each segment; none until they are needed.
  std::vector<std::vector<at::Tensor>> states_;
  StepCounts counts_;
  /// Whether the slots may still call back; see step_in_backward().
  bool steps_in_backward_ = false;
};

}  // namespace sheaf::optim
