#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::models {

struct LayerCost {
  std::string name;
  std::int64_t parameters = 0;
  /// Multiplications and additions of matrix products in a forward pass, for one token of a
  /// language model or one sample of a classifier, at the model's full context.
  double forward_flops = 0;
};

/// What a model costs. Backward does twice the work of forward.
struct Cost {
  std::vector<LayerCost> layers;
  /// Each tied parameter once.
  std::int64_t parameters = 0;
  /// Training cost of one token or sample by the usual rule: 6N + 12 L d T for a language model,
  /// three times the forward products for others.
  double rule_flops = 0;

  /// The same, added up layer by layer.
  [[nodiscard]] double training_flops() const;
};

}  // namespace sheaf::models
