#pragma once

#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/memory/holders.h"

namespace sheaf::train {

/// Bytes of those who belong together, such as "activations of blocks 3-9".
struct HolderGroup {
  std::string name;
  Bytes bytes;
};

/// Puts holders together by purpose, the largest first. Activations are told apart: those of
/// blocks, of which those with less than half of what the largest block holds are not named, and
/// those outside of blocks.
[[nodiscard]] std::vector<HolderGroup> grouped_holders(const std::vector<memory::Holder>& holders);

}  // namespace sheaf::train
