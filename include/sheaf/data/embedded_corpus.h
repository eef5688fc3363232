#pragma once

#include <string_view>

namespace sheaf::data {

/// Returns the text inside the program: plays of Shakespeare, 1.1 MB, in the public domain.
[[nodiscard]] std::string_view embedded_corpus();

}  // namespace sheaf::data
