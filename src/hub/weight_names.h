#pragma once

#include <map>
#include <string>
#include <vector>

#include "sheaf/checkpoint/weights.h"
#include "sheaf/models/options.h"

namespace sheaf::hub {

/// Finds out what a folder's weights call each parameter: the same, or without the first part, as
/// models saved without their head do. Throws UsageError for a parameter that is not there, has
/// another shape or is no floating-point tensor, and for a tensor that no such model has.
[[nodiscard]] std::map<std::string, std::string> match_names(
    const std::vector<checkpoint::TensorSpec>& parameters,
    const checkpoint::Weights& weights,
    const models::Shape& shape);

}  // namespace sheaf::hub
