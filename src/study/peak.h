#pragma once

#include "study/json.h"

namespace sheaf::study {

/// Gives all rows of a study on CPUs one and the same peak speed, the highest that any of its runs
/// has measured: each measures anew when it starts, and whatever else the machine does then makes
/// it too low. Runs on GPUs have theirs from a table.
void share_peak(Json& data);

}  // namespace sheaf::study
