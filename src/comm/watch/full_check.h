#pragma once

#include <optional>
#include <string>

#include "../backend.h"
#include "call_record.h"

namespace sheaf::comm {

/// Lets all members show each other the call they are about to make, by an exchange that has the
/// same size whatever they call; returns the sentence that says who differs. Waits for all.
[[nodiscard]] std::optional<std::string> disagreement_before(Backend& backend,
                                                             const Members& members,
                                                             const CallRecord& call);

}  // namespace sheaf::comm
