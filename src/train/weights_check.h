#pragma once

#include <vector>

#include "assembly.h"
#include "sheaf/train/sink.h"

namespace sheaf::train {

/// Compares the weights that the ranks compute with, unit by unit and by checksums; what is cut is
/// gathered first, a unit at a time. Returns who has others than most ranks. Every rank must call
/// it.
[[nodiscard]] std::vector<OddWeights> find_odd_weights(const Assembly& parts);

}  // namespace sheaf::train
