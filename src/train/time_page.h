#pragma once

#include <string>

#include "sheaf/train/sink.h"

namespace sheaf::train {

/// Returns where the time went, for people: by phase, by exchange and by unit of a mean step, and
/// how far apart the ranks were.
[[nodiscard]] std::string time_page(const Summary& summary);

/// Returns who was slow and where, in one sentence; empty where nobody was.
[[nodiscard]] std::string straggler_text(const Summary& summary);

}  // namespace sheaf::train
