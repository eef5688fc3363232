#pragma once

#include <cstdint>

namespace sheaf::nn {

/// What random numbers of a pass depend on, besides the layer that draws them. Nothing in it knows
/// of ranks, so any number of ranks draws the same numbers for the same sample.
struct Randomness {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  /// Number, within the step's global batch, of the first sample of this pass; the others follow it
  /// one by one.
  std::int64_t first_sample = 0;
};

}  // namespace sheaf::nn
