#pragma once

#include "assembly.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Throws UsageError if the run's model cannot be written where `train.export` says.
void check_export(const RunOptions& options, const models::Shape& shape);

/// Writes the model as a Hugging Face folder where `train.export` says, if it says so. Every rank
/// writes its own part. Every rank must call it.
void export_model(const RunOptions& options, const Assembly& parts);

}  // namespace sheaf::train
