#include "sheaf/optim/adamw.h"
#include "sheaf/optim/sgd.h"
#include "sheaf/train/parallelize.h"

namespace sheaf::train {
namespace {

std::vector<optim::ParameterRule> rules_of(const OptimizerSection& options) {
  if (options.decay_vectors) return {};
  return {{.max_dims = 1, .weight_decay = 0.0}};
}

template <class Options>
Options adam_options(const OptimizerSection& options) {
  return {.learning_rate = options.learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay,
          .moments = options.moments,
          .rules = rules_of(options)};
}

optim::SgdOptions sgd_options(const OptimizerSection& options) {
  return {.learning_rate = options.learning_rate,
          .momentum = options.momentum,
          .weight_decay = options.weight_decay,
          .nesterov = options.nesterov,
          .moments = options.moments,
          .rules = rules_of(options)};
}

}  // namespace

std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSection& options,
                                                 const sharding::State& state) {
  switch (options.kind) {
    case OptimizerKind::adam:
      return std::make_unique<optim::Adam>(state.slots(),
                                           adam_options<optim::AdamOptions>(options));
    case OptimizerKind::sgd:
      return std::make_unique<optim::Sgd>(state.slots(), sgd_options(options));
    case OptimizerKind::adamw:
      break;
  }
  return std::make_unique<optim::AdamW>(state.slots(), adam_options<optim::AdamWOptions>(options));
}

}  // namespace sheaf::train
