#pragma once

#include <string>
#include <vector>

#include "sheaf/comm/group.h"

namespace sheaf::comm {

/// Returns every rank's text, in rank order. Every rank must call it.
[[nodiscard]] std::vector<std::string> gather_texts(const Group& group, const std::string& text);

}  // namespace sheaf::comm
