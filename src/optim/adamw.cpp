#include "sheaf/optim/adamw.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "checks.h"
#include "elements_of.h"
#include "kernels/cpu.h"
#include "kernels/cuda.h"
#include "kernels/stream.h"
#include "sheaf/base/error.h"

namespace sheaf::optim {
namespace {

// Neighbouring numbers of bf16 are up to 1/128 apart, and a change of less than half of that is
// rounded away: a mean square that should shrink by less would never do so.
constexpr double kLargestBeta2 = 0.995;

void check_low_precision(const std::string& name, double beta2) {
  if (beta2 <= kLargestBeta2) return;
  throw UsageError(fmt::format(
      "beta2 of {} must be at most {} with moments in bf16, which a smaller change does "
      "not reach, got {}",
      name,
      kLargestBeta2,
      beta2));
}

template <class Options>
OptimizerSetup checked_setup(const std::string& name, const Options& options) {
  check_not_negative("learning_rate of " + name, options.learning_rate);
  check_below_one("beta1 of " + name, options.beta1);
  check_below_one("beta2 of " + name, options.beta2);
  check_not_negative("epsilon of " + name, options.epsilon);
  check_not_negative("weight_decay of " + name, options.weight_decay);
  if (options.moments == Moments::bf16) check_low_precision(name, options.beta2);
  return {.settings = {options.learning_rate, options.weight_decay},
          .rules = options.rules,
          .state_names = {"exp_avg", "exp_avg_sq"},
          .moments = options.moments};
}

template <class Options>
AdamFactors<double> factors_without_decay(const Run& run, const Options& options) {
  const auto step = static_cast<double>(run.step);
  return {.decay = 1,
          .gradient_decay = 0,
          .beta1 = options.beta1,
          .one_minus_beta1 = 1 - options.beta1,
          .beta2 = options.beta2,
          .one_minus_beta2 = 1 - options.beta2,
          .root_bias2 = std::sqrt(1 - std::pow(options.beta2, step)),
          .epsilon = options.epsilon,
          .step_size = run.learning_rate / (1 - std::pow(options.beta1, step))};
}

/// Returns the factors of AdamW, which has decoupled decay, or of Adam.
AdamFactors<double> factors_of(const Run& run, const AdamWOptions& options) {
  auto factors = factors_without_decay(run, options);
  factors.decay = 1 - run.learning_rate * run.weight_decay;
  return factors;
}

AdamFactors<double> factors_of(const Run& run, const AdamOptions& options) {
  auto factors = factors_without_decay(run, options);
  factors.gradient_decay = run.weight_decay;
  return factors;
}

template <class Options>
void step_adam(std::span<const Run> runs, const Options& options) {
  std::vector<CudaRun<AdamFactors<double>>> on_gpu;
  for (const Run& run : runs) {
    const auto factors = factors_of(run, options);
    if (run.master.is_cpu()) {
      adam_on_cpu(elements_of(run), factors);
    } else {
      on_gpu.push_back({elements_of(run), factors, recorded_numbers_of(run)});
    }
  }
  if (on_gpu.empty()) return;
  with_stream_of(runs.front().master, [&](void* stream) { adam_on_cuda(on_gpu, stream); });
}

}  // namespace

AdamW::AdamW(Slots slots, const AdamWOptions& options)
    : Optimizer(std::move(slots), checked_setup("AdamW", options)), options_(options) {}

void AdamW::update(std::span<const Run> runs) { step_adam(runs, options_); }

std::vector<double> AdamW::numbers(const Run& run) const {
  return listed(factors_of(run, options_));
}

Adam::Adam(Slots slots, const AdamOptions& options)
    : Optimizer(std::move(slots), checked_setup("Adam", options)), options_(options) {}

void Adam::update(std::span<const Run> runs) { step_adam(runs, options_); }

std::vector<double> Adam::numbers(const Run& run) const {
  return listed(factors_of(run, options_));
}

}  // namespace sheaf::optim
