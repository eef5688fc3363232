#pragma once

#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/train/memory_report.h"

namespace sheaf::train {

/// Returns what an allocator held over time, from how much more or less it held after each of
/// `changes`, which are in order, and what it held after the last. The time is cut into equal
/// spans, and of each the moment is taken at which most was in use; a span without changes has what
/// was there before.
[[nodiscard]] std::vector<AllocatorMoment> replayed(const std::vector<AllocatorMoment>& changes,
                                                    const AllocatorMoment& end,
                                                    std::size_t num_spans);

}  // namespace sheaf::train
