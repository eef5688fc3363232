#pragma once

#include <span>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/optim/optimizer.h"

namespace sheaf::optim {

struct SgdOptions {
  double learning_rate = 1e-3;
  /// How much of the last step's direction is kept; 0 keeps no state at all.
  double momentum = 0;
  /// How much of the gradient stays out of the direction, from the second step on.
  double dampening = 0;
  /// This times the parameter is added to its gradient.
  double weight_decay = 0;
  /// Looks one step ahead; needs momentum and no dampening.
  bool nesterov = false;
  /// Type of the states.
  Moments moments = Moments::fp32;
  /// Other settings for some parameters; set in code, not part of describe.
  std::vector<ParameterRule> rules = {};
};

/// The arithmetic of torch::optim::SGD. Its state is "momentum_buffer".
class Sgd final : public Optimizer {
 public:
  /// Throws UsageError for options that cannot be.
  explicit Sgd(Slots slots, const SgdOptions& options = {});

  [[nodiscard]] const SgdOptions& options() const { return options_; }

 private:
  void update(std::span<const Run> runs) override;
  [[nodiscard]] std::vector<double> numbers(const Run& run) const override;

  SgdOptions options_;
};

template <class Fields>
void describe(Fields& field, SgdOptions& options) {
  field("learning_rate", options.learning_rate, "step size", at_least(0.0));
  field("momentum", options.momentum, "share of the last direction that is kept", at_least(0.0));
  field("dampening",
        options.dampening,
        "share of the gradient left out of the direction",
        at_least(0.0));
  field("weight_decay", options.weight_decay, "share of it in its gradient", at_least(0.0));
  field("nesterov", options.nesterov, "look one step ahead");
  field("moments", options.moments, "type of the state");
}

}  // namespace sheaf::optim
