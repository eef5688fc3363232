#pragma once

#include <vector>

#include "sheaf/checkpoint/reader.h"
#include "sheaf/checkpoint/saver.h"
#include "sheaf/train/checkpointer.h"

namespace sheaf::train {

/// The tensors of a run under the names that checkpoints have for them: a parameter's own, and
/// optimizer/STATE/PARAMETER and buffer/NAME for what is not part of the model to others.
struct SavedTensors {
  /// All there are, the same on all ranks.
  std::vector<checkpoint::TensorSpec> weights;
  std::vector<checkpoint::TensorSpec> state;
  /// What this rank has to save; the optimizer's next step changes it.
  std::vector<checkpoint::Part> parts;
};

/// `saves_buffers`: whether this is the rank that does, as all have the same.
[[nodiscard]] SavedTensors saved_tensors(const TrainingState& state, bool saves_buffers);

/// Throws UsageError unless a checkpoint has the tensors of this run and no others.
void check_fits(const checkpoint::Reader& reader, const TrainingState& state);

/// Reads what this rank keeps. All ranks must call it, and where one throws, it does so after
/// all exchanges.
void load_tensors(const checkpoint::Reader& reader, const TrainingState& state);

}  // namespace sheaf::train
