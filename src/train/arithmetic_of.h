#pragma once

#include "sheaf/train/peak_flops.h"
#include "sheaf/train/section_enums.h"

namespace sheaf::train {

/// Returns how matrix products are computed in a run of that precision.
[[nodiscard]] Arithmetic arithmetic_of(Compute compute);

}  // namespace sheaf::train
