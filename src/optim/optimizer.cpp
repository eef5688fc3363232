#include "sheaf/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quoting.h"
#include "checks.h"
#include "elements_of.h"
#include "runs.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::optim {
namespace {

bool is_flat(const at::Tensor& tensor) { return tensor.dim() == 1 && tensor.is_contiguous(); }

bool is_alike(const at::Tensor& tensor, const at::Tensor& master) {
  return is_flat(tensor) && tensor.numel() == master.numel() && tensor.device() == master.device();
}

void check_segment(const Segment& segment) {
  TORCH_INTERNAL_ASSERT(is_flat(segment.master));
  const Type type = type_of(segment.master);
  if (type != Type::fp32 && type != Type::fp64 && type != Type::bf16) {
    throw UsageError(fmt::format("optimizers step fp32, fp64 and bf16 parameters, got {}",
                                 c10::toString(segment.master.scalar_type())));
  }
  if (!segment.master.is_cpu() && !segment.master.is_cuda()) {
    throw UsageError("optimizers step parameters on the CPU and on CUDA devices, got " +
                     segment.master.device().str());
  }
  if (segment.copy.defined()) {
    TORCH_INTERNAL_ASSERT(is_alike(segment.copy, segment.master));
    if (type == Type::bf16) {
      throw UsageError(fmt::format(
          "models compute with parameters that are kept in bf16 as they are, not with a copy in {}",
          c10::toString(segment.copy.scalar_type())));
    }
    if (type_of(segment.copy) == Type::none) {
      throw UsageError(
          fmt::format("models compute with fp16, bf16, fp32 or fp64 parameters, got {}",
                      c10::toString(segment.copy.scalar_type())));
    }
  }
  std::int64_t end = 0;
  for (const Slot& slot : segment.slots) {
    TORCH_INTERNAL_ASSERT(slot.offset >= end && slot.size >= 0, slot.name);
    end = slot.offset + slot.size;
  }
  TORCH_INTERNAL_ASSERT(end <= segment.master.numel());
}

/// Tells whether kernels take a gradient of this type beside this master.
bool fits_beside(const at::Tensor& gradient, const at::Tensor& master) {
  const Type type = type_of(gradient);
  if (type_of(master) == Type::fp64) return type == Type::fp64;
  return type == Type::fp32 || type == Type::bf16;
}

void check_scale(const at::Tensor& scale, const std::vector<Segment>& segments) {
  if (!scale.defined() || segments.empty()) return;
  const at::Device device = segments.front().master.device();
  if (scale.numel() == 1 && scale.scalar_type() == at::kDouble && scale.device() == device) return;
  throw UsageError(fmt::format("gradient_scale must be one fp64 number on {}, got {} of {} on {}",
                               device.str(),
                               scale.numel(),
                               c10::toString(scale.scalar_type()),
                               scale.device().str()));
}

/// Returns the row of the next run's numbers.
at::Tensor next_row(RecordedStep& recording, RecordedStep::Place first) {
  recording.runs.push_back(first);
  return recording.numbers[static_cast<std::int64_t>(recording.runs.size()) - 1];
}

at::Tensor part(const at::Tensor& tensor, const RunRange& range) {
  if (!tensor.defined() || range.size == tensor.numel()) return tensor;
  return tensor.narrow(0, range.begin, range.size);
}

Run run_of(const Segment& segment,
           const at::Tensor& gradient,
           const std::vector<at::Tensor>& states,
           const RunRange& range) {
  Run run{.master = part(segment.master, range),
          .gradient = part(gradient, range),
          .copy = part(segment.copy, range),
          .step = range.how.step,
          .learning_rate = range.how.settings.learning_rate,
          .weight_decay = range.how.settings.weight_decay};
  for (const at::Tensor& state : states) run.states.push_back(part(state, range));
  return run;
}

}  // namespace

Optimizer::Optimizer(Slots slots, OptimizerSetup setup)
    : slots_(std::move(slots)), setup_(std::move(setup)) {
  const auto& segments = slots_->segments();
  for (const Segment& segment : segments) {
    check_segment(segment);
    if (setup_.moments == Moments::bf16 && segment.master.scalar_type() == at::kDouble) {
      throw UsageError("moments in bf16 go with fp32 and bf16 parameters, not with fp64");
    }
  }
  settings_ = apply_rules(setup_.rules, segments, setup_.settings);
  states_.resize(segments.size());
  for (const Segment& segment : segments) counts_.slots.emplace_back(segment.slots.size());
}

Optimizer::~Optimizer() {
  if (steps_in_backward_) static_cast<void>(slots_->step_as_ready({}));
}

void Optimizer::step(double learning_rate_factor, const UpdateOptions& options) {
  check_not_negative("the factor of the learning rate", learning_rate_factor);
  check_scale(options.gradient_scale, slots_->segments());
  const at::NoGradGuard no_grad;
  slots_->begin_step();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    step_segment(i, learning_rate_factor, options);
  }
  slots_->end_step();
  // Also where no pass came: another step's must not find it.
  if (std::exchange(steps_in_backward_, false)) static_cast<void>(slots_->step_as_ready({}));
  if (options.recording == nullptr) ++counts_.steps;
}

bool Optimizer::step_in_backward(double learning_rate_factor, const UpdateOptions& options) {
  check_not_negative("the factor of the learning rate", learning_rate_factor);
  check_scale(options.gradient_scale, slots_->segments());
  steps_in_backward_ =
      slots_->step_as_ready([this, learning_rate_factor, options](std::size_t segment) {
        const at::NoGradGuard no_grad;
        step_segment(segment, learning_rate_factor, options);
      });
  if (!steps_in_backward_) return false;
  // Here and not within backward, where their memory would be another stream's.
  for (std::size_t i = 0; i < states_.size(); ++i) make_states(i);
  return true;
}

void Optimizer::step_segment(std::size_t segment,
                             double learning_rate_factor,
                             const UpdateOptions& options) {
  const at::Tensor gradient = slots_->gradient(segment);
  if (!gradient.defined()) return;
  const Segment& of = slots_->segments()[segment];
  TORCH_INTERNAL_ASSERT(is_alike(gradient, of.master) && fits_beside(gradient, of.master));
  make_states(segment);
  std::vector<SlotStep> steps(of.slots.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!slots_->takes_part(segment, i)) continue;
    steps[i] = {true, counts_.slots[segment][i] + 1, settings_[segment][i]};
    steps[i].settings.learning_rate *= learning_rate_factor;
    if (options.recording == nullptr) {
      ++counts_.slots[segment][i];
    } else {
      options.recording->slots.push_back({segment, i});
    }
  }
  std::vector<Run> runs;
  for (const RunRange& range : join_slots(of.slots, steps)) {
    Run run = run_of(of, gradient, states_[segment], range);
    run.gradient_scale = options.gradient_scale;
    if (options.recording != nullptr) {
      run.recorded_numbers = next_row(*options.recording, {segment, range.first_slot});
    }
    runs.push_back(std::move(run));
  }
  update(runs);
  slots_->stepped(segment);
}

RecordedStep Optimizer::new_recording() const {
  const auto& segments = slots_->segments();
  if (segments.empty() || !segments.front().master.is_cuda()) {
    throw UsageError("steps are recorded on CUDA devices only");
  }
  std::int64_t num_slots = 0;
  for (const Segment& segment : segments) {
    num_slots += static_cast<std::int64_t>(segment.slots.size());
  }
  return {.numbers = at::zeros({num_slots, kMostNumbers},
                               segments.front().master.options().dtype(at::kDouble))};
}

void Optimizer::replay(RecordedStep& recorded, double learning_rate_factor) {
  check_not_negative("the factor of the learning rate", learning_rate_factor);
  for (const auto& [segment, slot] : recorded.slots) ++counts_.slots[segment][slot];
  ++counts_.steps;
  // Made anew: LibTorch keeps what is given up until the copy has been made.
  const at::Tensor fresh =
      at::zeros(recorded.numbers.sizes(), at::TensorOptions(at::kDouble).pinned_memory(true));
  for (std::size_t row = 0; row < recorded.runs.size(); ++row) {
    const auto& [segment, slot] = recorded.runs[row];
    const ParameterSettings& settings = settings_[segment][slot];
    const std::vector<double> values =
        numbers({.step = counts_.slots[segment][slot],
                 .learning_rate = settings.learning_rate * learning_rate_factor,
                 .weight_decay = settings.weight_decay});
    std::ranges::copy(values, fresh.mutable_data_ptr<double>() + row * kMostNumbers);
  }
  recorded.numbers.copy_(fresh, /*non_blocking=*/true);
}

std::vector<double> Optimizer::numbers(const Run&) const {
  throw UsageError("steps of this optimizer cannot be recorded");
}

at::ScalarType Optimizer::state_type(std::size_t segment) const {
  if (setup_.moments == Moments::bf16) return at::kBFloat16;
  const bool is_double = slots_->segments()[segment].master.scalar_type() == at::kDouble;
  return is_double ? at::kDouble : at::kFloat;
}

void Optimizer::make_states(std::size_t segment) {
  auto& states = states_[segment];
  if (!states.empty()) return;
  for (const std::string& name : setup_.state_names) {
    states.push_back(slots_->new_state(segment, name, state_type(segment)));
    TORCH_INTERNAL_ASSERT(is_alike(states.back(), slots_->segments()[segment].master) &&
                          states.back().scalar_type() == state_type(segment));
  }
}

at::Tensor Optimizer::state(std::string_view name, std::size_t segment) {
  const auto found = std::ranges::find(setup_.state_names, name);
  if (found == setup_.state_names.end()) {
    const std::string known = setup_.state_names.empty() ? "none" : join_or(setup_.state_names);
    throw UsageError(fmt::format("the optimizer's states are {}, not {}", known, in_quotes(name)));
  }
  if (segment >= states_.size()) {
    throw UsageError(fmt::format(
        "the optimizer has {} segments, and none is number {}", states_.size(), segment));
  }
  make_states(segment);
  return states_[segment][static_cast<std::size_t>(found - setup_.state_names.begin())];
}

void Optimizer::set_step_counts(StepCounts counts) {
  const auto same_size = [](const auto& a, const auto& b) { return a.size() == b.size(); };
  if (!std::ranges::equal(counts.slots, counts_.slots, same_size)) {
    throw UsageError(
        fmt::format("step counts must have one count for each slot of the {} segments, got other "
                    "slots in {} segments",
                    counts_.slots.size(),
                    counts.slots.size()));
  }
  check_not_negative("the number of steps", static_cast<double>(counts.steps));
  for (const auto& of_segment : counts.slots) {
    for (const std::int64_t count : of_segment) {
      check_not_negative("the steps of a slot", static_cast<double>(count));
    }
  }
  counts_ = std::move(counts);
}

}  // namespace sheaf::optim
