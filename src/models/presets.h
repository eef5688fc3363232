#pragma once

#include <string>

#include "sheaf/models/options.h"

namespace sheaf::models {

/// Returns the shape of a preset. Sizes that follow from others are 0: `head_size`, `hidden` of
/// GPT-2, and `kv_heads` where there are as many as heads. Throws UsageError for an unknown name.
[[nodiscard]] const Shape& preset_shape(const std::string& name);

}  // namespace sheaf::models
