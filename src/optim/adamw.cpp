#include "sheaf/optim/adamw.h"

#include <cmath>
#include <string>

#include "checks.h"
#include "elements_of.h"
#include "kernels/cpu.h"
#include "kernels/cuda.h"
#include "kernels/stream.h"

namespace sheaf::optim {
namespace {

template <class Options>
OptimizerSetup checked_setup(const std::string& name, const Options& options) {
  check_not_negative("learning_rate of " + name, options.learning_rate);
  check_below_one("beta1 of " + name, options.beta1);
  check_below_one("beta2 of " + name, options.beta2);
  check_not_negative("epsilon of " + name, options.epsilon);
  check_not_negative("weight_decay of " + name, options.weight_decay);
  return {.settings = {options.learning_rate, options.weight_decay},
          .rules = options.rules,
          .state_names = {"exp_avg", "exp_avg_sq"}};
}

/// Returns the factors of a step without weight decay.
template <class Options>
AdamFactors<double> factors_of(const Run& run, const Options& options) {
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

void step_adam(const Run& run, const AdamFactors<double>& factors) {
  const Elements all = elements_of(run);
  if (run.master.is_cpu()) return adam_on_cpu(all, factors);
  with_stream_of(run.master, [&](void* stream) { adam_on_cuda(all, factors, stream); });
}

}  // namespace

AdamW::AdamW(Slots slots, const AdamWOptions& options)
    : Optimizer(std::move(slots), checked_setup("AdamW", options)), options_(options) {}

void AdamW::update(const Run& run) {
  auto factors = factors_of(run, options_);
  factors.decay = 1 - run.learning_rate * run.weight_decay;
  step_adam(run, factors);
}

Adam::Adam(Slots slots, const AdamOptions& options)
    : Optimizer(std::move(slots), checked_setup("Adam", options)), options_(options) {}

void Adam::update(const Run& run) {
  auto factors = factors_of(run, options_);
  factors.gradient_decay = run.weight_decay;
  step_adam(run, factors);
}

}  // namespace sheaf::optim
