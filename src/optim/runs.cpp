#include "runs.h"

namespace sheaf::optim {

std::vector<RunRange> join_slots(const std::vector<Slot>& slots,
                                 const std::vector<SlotStep>& steps) {
  std::vector<RunRange> runs;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (!steps[i].takes_part || slot.size == 0) continue;
    const bool touches = !runs.empty() && runs.back().begin + runs.back().size == slot.offset;
    if (touches && runs.back().how == steps[i]) {
      runs.back().size += slot.size;
    } else {
      runs.push_back({slot.offset, slot.size, steps[i], i});
    }
  }
  return runs;
}

}  // namespace sheaf::optim
