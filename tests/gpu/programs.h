#pragma once

#include <string>

namespace sheaf::testing {

/// Returns the path of the program that runs now.
[[nodiscard]] std::string own_program();
/// Returns the path of `sheaf`, which is beside this program in the build folder and in a bundle.
[[nodiscard]] std::string sheaf_program();

}  // namespace sheaf::testing
