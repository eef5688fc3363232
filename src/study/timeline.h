#pragma once

#include "study/json.h"

namespace sheaf::study {

/// Leaves of a memory report's timeline no more moments than a chart can show: of each part of the
/// step the highest.
void thin_timeline(Json& report);

}  // namespace sheaf::study
