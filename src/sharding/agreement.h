#pragma once

#include <string>
#include <vector>

#include "sheaf/comm/group.h"

namespace sheaf::sharding {

/// Checks that all ranks have the same lines of text. Where they differ, every rank throws the same
/// UsageError, which names the first rank that differs from rank 0 and how: `what` says what the
/// lines describe.
void check_agreement(const comm::Group& group,
                     const std::vector<std::string>& lines,
                     const std::string& what);

}  // namespace sheaf::sharding
