#pragma once

#include <nlohmann/json.hpp>

namespace sheaf::study {

/// What results are kept in, so that reports show exactly what files have.
using Json = nlohmann::ordered_json;

}  // namespace sheaf::study
