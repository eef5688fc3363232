#pragma once

#include <string>

#include "study/json.h"

namespace sheaf::study {

/// Returns the table of `sheaf bench` for people, from what its --json prints.
[[nodiscard]] std::string bench_page(const Json& bench);

/// Tells whether every strategy has run, with weights in sync and the loss of one rank.
[[nodiscard]] bool all_is_well(const Json& bench);

}  // namespace sheaf::study
