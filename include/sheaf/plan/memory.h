#pragma once

#include <string>
#include <vector>

#include "sheaf/base/memory_purpose.h"
#include "sheaf/base/units.h"
#include "sheaf/plan/architecture.h"
#include "sheaf/plan/setting.h"

namespace sheaf::plan {

/// What one rank will hold.
struct Prediction {
  /// Between steps, once the optimizer has made its states. On a GPU gradients are gone by then.
  memory::ByPurpose resting;
  /// The most that there is at one moment of a step, and what that moment is, such as "backward of
  /// block 11".
  Bytes peak;
  std::string moment;
  /// What the peak consists of; activations also by block, those outside of blocks last.
  memory::ByPurpose at_peak;
  std::vector<Bytes> activations_by_block;
  /// The most that each purpose takes; the moments differ, so these do not add up.
  memory::ByPurpose highest;
};

/// Predicts the memory of a step, byte by byte: walks through the layers, the loss, backward, the
/// exchanges and the optimizer as they run, and keeps account of every tensor that they make and
/// let go. For ranks that exchange in place (shared memory, NCCL); gloo makes copies besides.
/// Throws UsageError for sizes that cannot be.
[[nodiscard]] Prediction predict_memory(const Architecture& model, const Setting& setting);

/// Predicts what is held between steps only.
[[nodiscard]] memory::ByPurpose predict_states(const Architecture& model, const Setting& setting);

}  // namespace sheaf::plan
