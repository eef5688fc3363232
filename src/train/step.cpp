#include "sheaf/train/step.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "comm/device_stamp.h"
#include "sheaf/base/error.h"
#include "sheaf/module/forward.h"
#include "sheaf/nn/linear_cross_entropy.h"
#include "sheaf/train/interruption.h"
#include "step_graph.h"

namespace sheaf::train {
namespace {

static_assert(data::kIgnoredTarget == nn::kIgnoredTarget);

/// Rows of a rank's batch that one pass computes; none where the rank has no more.
at::Tensor rows(const at::Tensor& all, std::int64_t begin, std::int64_t count) {
  if (!all.defined()) return all;
  const std::int64_t first = std::min(begin, all.size(0));
  return all.narrow(0, first, std::min(count, all.size(0) - first));
}

/// Every rank's passes: as many as the largest share needs.
std::int64_t num_passes(const data::Batch& batch, int ranks, std::int64_t micro_batch) {
  const std::int64_t share = (batch.global_samples + ranks - 1) / ranks;
  return (share + micro_batch - 1) / micro_batch;
}

// What ranks add up at the end of a step. Behind these come the ranks that are asked to stop, a
// slot for each of kStopSignals.
constexpr std::int64_t kLossSlot = 0;
constexpr std::int64_t kNotFiniteSlot = 1;
constexpr std::int64_t kFirstSignalSlot = 2;
constexpr std::int64_t kSlots = kFirstSignalSlot + std::int64_t{kStopSignals.size()};

/// A signal that nobody watches for, which only a hook can name, is SIGTERM for all: the run ends.
std::int64_t slot_of(int signal) {
  const auto* known = std::ranges::find(kStopSignals, signal);
  if (known == kStopSignals.end()) known = std::ranges::find(kStopSignals, SIGTERM);
  return kFirstSignalSlot + (known - kStopSignals.begin());
}

/// The first of kStopSignals that any rank got, so the same on all; 0 if none did.
int signal_in(const at::Tensor& outcome) {
  const auto* got = std::ranges::find_if(
      kStopSignals, [&](int signal) { return outcome[slot_of(signal)].item<double>() > 0; });
  return got == kStopSignals.end() ? 0 : *got;
}

double checked(double norm, std::int64_t step) {
  if (std::isfinite(norm)) return norm;
  throw Diverged(fmt::format(
      "the gradients of step {} have norm {}: a lower learning rate or a longer warm-up may help",
      step + 1,
      norm));
}

}  // namespace

TrainStep::TrainStep(StepParts parts, const StepOptions& options)
    : parts_(std::move(parts)), options_(options) {}

StepResult TrainStep::run(const data::Batch& batch, std::int64_t step, PhaseClock& clock) {
  start(batch, step, clock);
  return finish();
}

void TrainStep::start(const data::Batch& batch, std::int64_t step, PhaseClock& clock) {
  started_ = {
      .step = step,
      .result = {.learning_rate_factor = optim::learning_rate_factor(options_.schedule, step)},
      .counts = count(batch)};
  started_.is_replay = start_replay(batch, clock);
  if (!started_.is_replay) start_now(batch, clock);
  if (!parts_.approve) started_.outcome = outcome(/*is_finite=*/true);
  tell_host();
  clock.mark(Phase::optimizer);
  under_way_.push_back(std::move(started_));
}

bool TrainStep::is_replaying() const { return !under_way_.empty() && under_way_.back().is_replay; }

/// Sends what the host will want to know behind the step, before another one is given to the
/// device: what is read later would wait for that, too.
void TrainStep::tell_host() {
  const at::Device device = started_.counts.device();
  if (device.is_cpu()) return;
  for (at::Tensor* const each : {&started_.counts, &started_.gradient_norm, &started_.outcome}) {
    if (each->defined()) *each = each->to(each->options().device(at::kCPU), /*non_blocking=*/true);
  }
  started_.told = comm::stamp_now(comm::current_stream(device));
}

void TrainStep::start_now(const data::Batch& batch, PhaseClock& clock) {
  StepResult& result = started_.result;
  const double factor = result.learning_rate_factor;
  const auto step_within = [&] {
    if (!steps_in_backward()) return;
    if (parts_.before_update) parts_.before_update();
    parts_.optimizer->step_in_backward(factor);
  };
  started_.loss_sum = compute_gradients(
      batch, started_.counts, [&](Phase phase) { clock.mark(phase); }, step_within);
  if (parts_.gradients_ready) parts_.gradients_ready();
  result.skipped = parts_.scaler && !parts_.scaler->unscale();
  if (!result.skipped && options_.clip > 0) {
    started_.gradient_norm = parts_.state.gradient_norm();
  }
  if (parts_.approve) result.skipped = !is_approved() || result.skipped;
  if (result.skipped) return;
  if (parts_.before_update) parts_.before_update();
  parts_.optimizer->step(factor, {.gradient_scale = clip_scale(started_.gradient_norm)});
}

bool TrainStep::steps_in_backward() const {
  return options_.in_backward && options_.clip == 0 && !parts_.scaler && !parts_.approve &&
         !parts_.gradients_ready;
}

/// Returns whether the step is on its way as a replay. See Note [Recorded and replayed].
bool TrainStep::start_replay(const data::Batch& batch, PhaseClock& clock) {
  const std::int64_t number = started_.step + 1;
  const auto& traced = options_.traced;
  const bool is_traced = traced && number >= traced->first && number <= traced->last;
  if (!parts_.graph || is_traced) return false;
  const auto body =
      [this](const StepInputs& inputs, optim::RecordedStep& recorded, const PhaseMark& mark) {
        const auto step_within = [&] {
          if (steps_in_backward())
            parts_.optimizer->step_in_backward(1.0, {.recording = &recorded});
        };
        StepOutputs outputs{.loss_sum =
                                compute_gradients(inputs.batch, inputs.counts, mark, step_within)};
        if (options_.clip > 0) outputs.gradient_norm = parts_.state.gradient_norm();
        parts_.optimizer->step(
            1.0, {.gradient_scale = clip_scale(outputs.gradient_norm), .recording = &recorded});
        return outputs;
      };
  const auto cleanup = [this] { parts_.state.zero_gradients(); };
  if (!parts_.graph->prepare({batch, started_.counts}, body, cleanup)) return false;
  if (parts_.before_update) parts_.before_update();
  const StepOutputs& outputs = parts_.graph->replay(started_.result.learning_rate_factor, clock);
  started_.loss_sum = outputs.loss_sum;
  started_.gradient_norm = outputs.gradient_norm;
  return true;
}

/// Runs all passes and exchanges their gradients; returns the sum of this rank's losses. Calls
/// `before_last` before the backward pass that completes the gradients.
at::Tensor TrainStep::compute_gradients(const data::Batch& batch,
                                        const at::Tensor& counts,
                                        const std::function<void(Phase)>& mark,
                                        const std::function<void()>& before_last) const {
  at::Tensor loss_sum;
  const at::Tensor scale = counts[0].clamp_min(1).to(at::kDouble).reciprocal().to(at::kFloat);
  const std::int64_t passes = num_passes(batch, parts_.group.size(), options_.micro_batch);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    std::optional<sharding::NoSyncScope> local;
    if (pass + 1 < passes) local.emplace(parts_.state.no_sync());
    const at::Tensor loss = forward(batch, pass * options_.micro_batch, started_.step);
    mark(Phase::forward);
    loss_sum = loss_sum.defined() ? loss_sum + loss.detach() : loss.detach();
    if (pass + 1 == passes) before_last();
    backward(loss, scale);
    mark(Phase::backward);
  }
  return loss_sum;
}

/// What the optimizer multiplies gradients with; undefined: with nothing.
at::Tensor TrainStep::clip_scale(const at::Tensor& norm) const {
  return norm.defined() ? sharding::clip_factor(norm, options_.clip) : at::Tensor();
}

/// Asks whether the update may be made, with what all ranks know: a gradient may be bad on one of
/// them alone.
bool TrainStep::is_approved() {
  const bool is_usable = started_.result.skipped || has_finite_gradients();
  started_.outcome = outcome(is_usable);
  const at::Tensor outcome = started_.outcome.cpu();
  const auto targets = std::max<std::int64_t>(started_.counts[0].item<std::int64_t>(), 1);
  return parts_.approve({.step = started_.step + 1,
                         .loss = outcome[kLossSlot].item<double>() / static_cast<double>(targets),
                         .learning_rate_factor = started_.result.learning_rate_factor,
                         .finite_gradients = outcome[kNotFiniteSlot].item<double>() == 0});
}

/// Says so of this rank's.
bool TrainStep::has_finite_gradients() const {
  if (started_.gradient_norm.defined()) return std::isfinite(started_.gradient_norm.item<double>());
  return !options_.check_gradients || parts_.state.multiply_gradients(1.0);
}

StepResult TrainStep::finish() {
  const Started step = std::move(under_way_.front());
  under_way_.pop_front();
  if (step.told) comm::wait_for(*step.told);
  StepResult result = step.result;
  result.targets = step.counts[0].item<std::int64_t>();
  result.sample_hash = std::bit_cast<std::uint64_t>(step.counts[1].item<std::int64_t>());
  // What is not finite in a step that was left out has been told already.
  if (step.gradient_norm.defined() && !(result.skipped && parts_.approve)) {
    result.gradient_norm = checked(step.gradient_norm.item<double>(), step.step);
  }
  result.loss = step.outcome[kLossSlot].item<double>() /
                static_cast<double>(std::max<std::int64_t>(result.targets, 1));
  result.stop_signal = signal_in(step.outcome);
  return result;
}

/// What all ranks have to know of the global batch: targets that count, and its hash.
at::Tensor TrainStep::count(const data::Batch& batch) const {
  const std::uint64_t hash = data::sample_hash(batch.samples, batch.first_sample);
  // Filled, not copied from the host: a copy would wait.
  at::Tensor counts =
      at::full({2}, std::bit_cast<std::int64_t>(hash), batch.targets.options().dtype(at::kLong));
  counts[0].copy_((batch.targets != nn::kIgnoredTarget).sum());
  parts_.group.all_reduce(counts, {.purpose = comm::Purpose::control}).wait();
  return counts;
}

at::Tensor TrainStep::forward(const data::Batch& batch,
                              std::int64_t begin,
                              std::int64_t step) const {
  const models::Pass pass{
      .random = {.seed = options_.seed, .step = step, .first_sample = batch.first_sample + begin},
      .positions = rows(batch.positions, begin, options_.micro_batch)};
  return sheaf::forward(*parts_.model,
                        rows(batch.inputs, begin, options_.micro_batch),
                        rows(batch.targets, begin, options_.micro_batch),
                        pass);
}

void TrainStep::backward(const at::Tensor& loss, const at::Tensor& scale) const {
  const at::Tensor scaled = loss * scale;
  (parts_.scaler ? parts_.scaler->scale(scaled) : scaled).backward();
}

/// Sums over ranks: the loss, how many have gradients that are not finite, and how many are asked
/// to stop by which signal.
at::Tensor TrainStep::outcome(bool is_finite) const {
  const at::Tensor& loss_sum = started_.loss_sum;
  at::Tensor sums = at::full({kSlots}, 0, loss_sum.options().dtype(at::kDouble));
  sums[kLossSlot].copy_(loss_sum);
  if (!is_finite) sums[kNotFiniteSlot].fill_(1);
  const int signal = parts_.stop_signal ? parts_.stop_signal() : 0;
  if (signal != 0) sums[slot_of(signal)].fill_(1);
  parts_.group.all_reduce(sums, {.purpose = comm::Purpose::loss}).wait();
  return sums;
}

}  // namespace sheaf::train
