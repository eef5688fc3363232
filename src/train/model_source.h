#pragma once

#include "sheaf/models/options.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Returns the shape of the run's model: that of its preset with changes, or that of the folder it
/// starts from. Throws UsageError for what cannot be, IoError.
[[nodiscard]] models::Shape shape_of(const RunOptions& options);

/// Returns what the run's model is called: its preset or its folder.
[[nodiscard]] std::string name_of_model(const models::ModelOptions& options);

}  // namespace sheaf::train
