#pragma once

#include <span>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/optim/optimizer.h"

namespace sheaf::optim {

struct AdamWOptions {
  double learning_rate = 1e-3;
  /// How much of the mean gradient (1) and of the mean square (2) is kept from step to step.
  double beta1 = 0.9;
  double beta2 = 0.999;
  /// Added to the root of the mean square, so that it never divides by zero.
  double epsilon = 1e-8;
  /// Each step shrinks a parameter by this times the learning rate.
  double weight_decay = 1e-2;
  /// Type of the states.
  Moments moments = Moments::fp32;
  /// Other settings for some parameters; set in code, not part of describe.
  std::vector<ParameterRule> rules = {};
};

/// Adam with decoupled weight decay: the arithmetic of torch::optim::AdamW.
class AdamW final : public Optimizer {
 public:
  /// Throws UsageError for options that cannot be.
  explicit AdamW(Slots slots, const AdamWOptions& options = {});

  [[nodiscard]] const AdamWOptions& options() const { return options_; }

 private:
  void update(std::span<const Run> runs) override;
  [[nodiscard]] std::vector<double> numbers(const Run& run) const override;

  AdamWOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  /// How much of the mean gradient (1) and of the mean square (2) is kept from step to step.
  double beta1 = 0.9;
  double beta2 = 0.999;
  /// Added to the root of the mean square, so that it never divides by zero.
  double epsilon = 1e-8;
  /// This times the parameter is added to its gradient.
  double weight_decay = 0;
  /// Type of the states.
  Moments moments = Moments::fp32;
  /// Other settings for some parameters; set in code, not part of describe.
  std::vector<ParameterRule> rules = {};
};

/// The arithmetic of torch::optim::Adam: weight decay goes through the gradient.
class Adam final : public Optimizer {
 public:
  /// Throws UsageError for options that cannot be.
  explicit Adam(Slots slots, const AdamOptions& options = {});

  [[nodiscard]] const AdamOptions& options() const { return options_; }

 private:
  void update(std::span<const Run> runs) override;
  [[nodiscard]] std::vector<double> numbers(const Run& run) const override;

  AdamOptions options_;
};

template <class Fields>
void describe(Fields& field, AdamWOptions& options) {
  field("learning_rate", options.learning_rate, "step size", at_least(0.0));
  field("beta1", options.beta1, "share of the mean gradient that a step keeps", between(0.0, 1.0));
  field("beta2", options.beta2, "share of the mean square that a step keeps", between(0.0, 1.0));
  field("epsilon", options.epsilon, "added to the root of the mean square", at_least(0.0));
  field("weight_decay", options.weight_decay, "decay per step and learning rate", at_least(0.0));
  field("moments", options.moments, "type of the states");
}

template <class Fields>
void describe(Fields& field, AdamOptions& options) {
  field("learning_rate", options.learning_rate, "step size", at_least(0.0));
  field("beta1", options.beta1, "share of the mean gradient that a step keeps", between(0.0, 1.0));
  field("beta2", options.beta2, "share of the mean square that a step keeps", between(0.0, 1.0));
  field("epsilon", options.epsilon, "added to the root of the mean square", at_least(0.0));
  field("weight_decay", options.weight_decay, "share of it in its gradient", at_least(0.0));
  field("moments", options.moments, "type of the states");
}

}  // namespace sheaf::optim
