#pragma once

#include <string>

#include "sheaf/train/record.h"
#include "sheaf/train/sink.h"

namespace sheaf::train {

/// Returns what is known before the first step, for people.
[[nodiscard]] std::string start_page(const RunInfo& info);

/// Returns how the run ended, for people.
[[nodiscard]] std::string end_page(const RunInfo& info, const Summary& summary);

}  // namespace sheaf::train
