#pragma once

#include <cstdint>
#include <vector>

#include "sheaf/optim/rules.h"
#include "sheaf/optim/slot.h"

namespace sheaf::optim {

/// What one slot does in a step.
struct SlotStep {
  bool takes_part = false;
  /// Its steps with this one.
  std::int64_t step = 0;
  ParameterSettings settings;

  bool operator==(const SlotStep&) const = default;
};

/// Elements of a segment that are stepped alike.
struct RunRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  SlotStep how;
  /// The first slot that has elements in it.
  std::size_t first_slot = 0;
};

/// Joins slots that touch and do the same; leaves out those that sit out or are empty. `steps` has
/// one item per slot.
[[nodiscard]] std::vector<RunRange> join_slots(const std::vector<Slot>& slots,
                                               const std::vector<SlotStep>& steps);

}  // namespace sheaf::optim
