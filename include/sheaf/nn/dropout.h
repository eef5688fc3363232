#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "sheaf/nn/randomness.h"

namespace sheaf::nn {

/// A place in a model that drops: its probability, and a number that no other place has.
struct DropoutSite {
  double probability = 0;
  std::int64_t layer = 0;
};

/// Sets each element to zero with the site's probability and scales the others up. Whether an
/// element stays depends on (seed, step, layer, number of its sample in the global batch, place in
/// the sample) alone; dim 0 counts the samples. Backward draws again instead of keeping a mask.
/// Returns `x` itself when the probability is 0.
[[nodiscard]] at::Tensor dropout(const at::Tensor& x,
                                 const DropoutSite& site,
                                 const Randomness& random);

}  // namespace sheaf::nn
