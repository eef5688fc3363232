#pragma once

#include <string>

#include "study/json.h"

namespace sheaf::study {

/// Makes the report of a study: what is shown, as sections, and under `data` all that it is from.
[[nodiscard]] Json make_report(const std::string& title, const Json& data);

/// Returns a report as a page that needs nothing but itself.
[[nodiscard]] std::string report_html(const Json& report);

/// Returns its tables as Markdown.
[[nodiscard]] std::string report_markdown(const Json& report);

}  // namespace sheaf::study
