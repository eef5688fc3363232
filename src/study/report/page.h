#pragma once

#include <string>

namespace sheaf::study {

/// Returns a whole page around `body`, with the looks, the charts and the script that all pages
/// share. It may talk to where it came from, and to nobody else.
[[nodiscard]] std::string page(const std::string& body);

}  // namespace sheaf::study
