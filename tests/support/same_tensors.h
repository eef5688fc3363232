#pragma once

#include <string>

namespace sheaf::testing {

/// Throws unless two checkpoints hold the same tensors, bit for bit.
void require_same_tensors(const std::string& actual, const std::string& expected);

}  // namespace sheaf::testing
