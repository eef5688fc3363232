#include "sheaf/train/step.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sheaf/base/error.h"
#include "sheaf/module/forward.h"
#include "sheaf/nn/linear_cross_entropy.h"

namespace sheaf::train {
namespace {

/// Rows of a rank's batch that one pass computes; none where the rank has no more.
at::Tensor rows(const at::Tensor& all, std::int64_t begin, std::int64_t count) {
  const std::int64_t first = std::min(begin, all.size(0));
  return all.narrow(0, first, std::min(count, all.size(0) - first));
}

/// Every rank's passes: as many as the largest share needs.
std::int64_t num_passes(const data::Batch& batch, int ranks, std::int64_t micro_batch) {
  const std::int64_t share = (batch.global_samples + ranks - 1) / ranks;
  return (share + micro_batch - 1) / micro_batch;
}

}  // namespace

BatchTotals count_batch(const data::Batch& batch, int stop_signal, const comm::Group& group) {
  const std::int64_t targets = (batch.targets != nn::kIgnoredTarget).sum().item<std::int64_t>();
  const std::uint64_t hash = data::sample_hash(batch.samples, batch.first_sample);
  const at::Tensor counts = at::tensor({targets,
                                        std::bit_cast<std::int64_t>(hash),
                                        std::int64_t{stop_signal},
                                        std::int64_t{stop_signal != 0}},
                                       at::TensorOptions().dtype(at::kLong))
                                .to(batch.targets.device());
  group.all_reduce(counts, {.purpose = comm::Purpose::control}).wait();
  const at::Tensor result = counts.cpu();
  const auto asked = result[3].item<std::int64_t>();
  return {
      .targets = result[0].item<std::int64_t>(),
      .sample_hash = std::bit_cast<std::uint64_t>(result[1].item<std::int64_t>()),
      // Whoever is asked is asked by the same signal, as a rule; a mean is one of them otherwise.
      .stop_signal =
          static_cast<int>(result[2].item<std::int64_t>() / std::max<std::int64_t>(asked, 1))};
}

TrainStep::TrainStep(StepParts parts, const StepOptions& options)
    : parts_(std::move(parts)), options_(options) {}

StepResult TrainStep::run(const data::Batch& batch,
                          const BatchTotals& totals,
                          std::int64_t step,
                          PhaseClock& clock) {
  StepResult result;
  at::Tensor loss_sum;
  const double scale = 1.0 / static_cast<double>(std::max<std::int64_t>(totals.targets, 1));
  const std::int64_t passes = num_passes(batch, parts_.group.size(), options_.micro_batch);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    std::optional<sharding::NoSyncScope> local;
    if (pass + 1 < passes) local.emplace(parts_.state.no_sync());
    const at::Tensor loss = forward(batch, pass * options_.micro_batch, step);
    clock.mark(Phase::forward);
    loss_sum = loss_sum.defined() ? loss_sum + loss.detach() : loss.detach();
    backward(loss, scale);
    clock.mark(Phase::backward);
  }
  result.learning_rate_factor = optim::learning_rate_factor(options_.schedule, step);
  result.skipped = parts_.scaler && !parts_.scaler->unscale();
  if (!result.skipped) {
    result.gradient_norm = clip(step);
    parts_.optimizer->step(result.learning_rate_factor);
  }
  result.loss = mean_loss(loss_sum, totals.targets);
  clock.mark(Phase::optimizer);
  return result;
}

at::Tensor TrainStep::forward(const data::Batch& batch,
                              std::int64_t begin,
                              std::int64_t step) const {
  const models::Pass pass{
      .random = {.seed = options_.seed, .step = step, .first_sample = batch.first_sample + begin}};
  return sheaf::forward(*parts_.model,
                        rows(batch.inputs, begin, options_.micro_batch),
                        rows(batch.targets, begin, options_.micro_batch),
                        pass);
}

void TrainStep::backward(const at::Tensor& loss, double scale) const {
  const at::Tensor scaled = loss * scale;
  (parts_.scaler ? parts_.scaler->scale(scaled) : scaled).backward();
}

std::optional<double> TrainStep::clip(std::int64_t step) const {
  if (options_.clip <= 0) return std::nullopt;
  const double norm = parts_.state.clip_gradients(options_.clip).item<double>();
  if (std::isfinite(norm)) return norm;
  // Before they reach the weights, which could then be saved.
  throw Error(fmt::format(
      "the gradients of step {} have norm {}: a lower learning rate or a longer warm-up may help",
      step + 1,
      norm));
}

double TrainStep::mean_loss(const at::Tensor& sum, std::int64_t targets) const {
  const at::Tensor total = sum.to(at::kDouble);
  parts_.group.all_reduce(total, {.purpose = comm::Purpose::loss}).wait();
  return total.item<double>() / static_cast<double>(std::max<std::int64_t>(targets, 1));
}

}  // namespace sheaf::train
