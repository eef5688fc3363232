#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/models/options.h"

namespace sheaf::models {

struct LayerCost {
  std::string name;
  std::int64_t parameters = 0;
  /// Multiplications and additions of matrix products in a forward pass, for one token of a
  /// language model or one sample of a classifier, at the model's full context. Causal attention
  /// counts as if every token looked at all others.
  double forward_flops = 0;
};

/// What a model costs. Backward does twice the work of forward.
struct Cost {
  std::vector<LayerCost> layers;
  /// Each tied parameter once.
  std::int64_t parameters = 0;
  /// Training cost of one token or sample by the usual rule: 6N + 12 L d T for a language model,
  /// three times the forward products for others. N is `parameters`: all of them, with embeddings
  /// and the table of positions.
  double rule_flops = 0;

  /// The same, added up layer by layer.
  [[nodiscard]] double training_flops() const;
};

/// Works out what a model of this shape costs, without building it.
[[nodiscard]] Cost cost_of(const Shape& shape);

}  // namespace sheaf::models
