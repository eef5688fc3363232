#pragma once

#include <string>
#include <vector>

#include "sheaf/comm/group.h"

namespace sheaf::comm {

/// Returns every rank's text, in rank order. Every rank must call it.
[[nodiscard]] std::vector<std::string> gather_texts(const Group& group, const std::string& text);

/// Returns rank `root`'s text on all ranks. Every rank must call it.
[[nodiscard]] std::string broadcast_text(const Group& group, const std::string& text, int root = 0);

}  // namespace sheaf::comm
