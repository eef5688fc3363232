#pragma once

#include "sheaf/train/options.h"

namespace sheaf::study {

/// Returns the run that `sheaf bench` and `sheaf sweep` take where no other is named: the small GPT
/// of configs/quickstart.toml on the embedded text.
[[nodiscard]] inline train::RunOptions quick_run() {
  train::RunOptions run;
  run.model.preset = "gpt2-tiny";
  run.model.layers = 6;
  run.model.width = 192;
  run.model.heads = 6;
  run.model.context = 128;
  run.optimizer.learning_rate = 2e-3;
  run.batch.global = 32;
  return run;
}

}  // namespace sheaf::study
