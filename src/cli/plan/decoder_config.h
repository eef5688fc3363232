#pragma once

#include <nlohmann/json.hpp>

#include "sheaf/models/options.h"

namespace sheaf::cli {

/// Returns a Llama of the sizes that the config.json of any decoder gives: its parts have other
/// names in other families. A feed-forward part of two matrices becomes one of three that are as
/// large together. Throws UsageError that says which size is missing or wrong, and for mixtures of
/// experts.
[[nodiscard]] models::Shape decoder_shape(const nlohmann::json& config);

}  // namespace sheaf::cli
